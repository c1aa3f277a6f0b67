/// Where a message was posted. An object, so that copying a ``Posted`` counts one reference.
@usableFromInline
final class PostPlace: Sendable {
    @usableFromInline let channelName: String?
    /// The other process, if the message came over a bridge.
    @usableFromInline let process: String?
    /// How it came, if the bridge says so.
    let delivery: RemoteDelivery?

    private init(_ channelName: String?, _ process: String?, _ delivery: RemoteDelivery?) {
        self.channelName = channelName
        self.process = process
        self.delivery = delivery
    }

    /// Nil for a channel without a name in this process.
    static func at(_ channelName: String?, _ process: String? = nil, _ delivery: RemoteDelivery? = nil) -> PostPlace? {
        channelName == nil && process == nil && delivery == nil ? nil : PostPlace(channelName, process, delivery)
    }
}

/// The sender and the source location of a post, which travel with the message.
@frozen @usableFromInline
struct PostContext: Sendable {
    @usableFromInline let sender: (any AnyObject & Sendable)?
    @usableFromInline let place: PostPlace?

    init(sender: (any AnyObject & Sendable)?, place: PostPlace?) {
        self.sender = sender
        self.place = place
    }
}
