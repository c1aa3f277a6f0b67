/// Where a message was posted. An object, so that handing a ``Posted`` on counts one reference and copies no texts.
@usableFromInline
final class PostPlace: Sendable {
    @usableFromInline let channelName: String?
    /// The process it came from, if it came in over a bridge.
    @usableFromInline let process: String?

    private init(_ channelName: String?, _ process: String?) {
        self.channelName = channelName
        self.process = process
    }

    /// Nil for a channel without a name in this process.
    static func at(_ channelName: String?, _ process: String? = nil) -> PostPlace? {
        channelName == nil && process == nil ? nil : PostPlace(channelName, process)
    }
}

/// What a listener can be told about a post besides the message; see ``Posted``.
@frozen @usableFromInline
struct PostContext: Sendable {
    @usableFromInline let sender: (any AnyObject & Sendable)?
    @usableFromInline let place: PostPlace?

    init(sender: (any AnyObject & Sendable)?, place: PostPlace?) {
        self.sender = sender
        self.place = place
    }
}
