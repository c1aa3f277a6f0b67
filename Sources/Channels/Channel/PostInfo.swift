/// What a listener can know of a post beyond the message.
public struct PostInfo: Sendable {
    /// The object that the poster gave as `from:`.
    ///
    /// To listen with it as the owner, cast it to a class or a protocol first: Swift 6.3 does not compile an owner of this type.
    public let sender: (any AnyObject & Sendable)?
    /// The name of the channel, where it has one.
    public let channelName: String?
    /// Whether the message was posted in this process or came in over a bridge.
    public let origin: Origin

    /// Creates an account of a post, for tests of listeners.
    public init(sender: (any AnyObject & Sendable)? = nil, channelName: String? = nil, origin: Origin = .local) {
        self.sender = sender
        self.channelName = channelName
        self.origin = origin
    }
}

/// Where a message was posted.
public enum Origin: Hashable, Sendable {
    /// In this process.
    case local
    /// In another process; the text names it.
    case remote(String)
}

/// What travels with a message beyond the message itself: kept with it in a mailbox, and only where there is something to keep.
@usableFromInline
final class Envelope: Sendable {
    let sender: (any AnyObject & Sendable)?
    let origin: Origin
    /// Who waits for the listeners to finish.
    let tracker: PostTracker?

    init(sender: (any AnyObject & Sendable)?, origin: Origin, tracker: PostTracker?) {
        self.sender = sender
        self.origin = origin
        self.tracker = tracker
    }
}
