/// A message with what else there is to know of the post that carried it.
///
/// What listeners to ``Listenable/posts``, to a pattern, and interceptors are handed.
public struct Posted<Message: Sendable>: Sendable {
    /// The message.
    public let message: Message
    /// The object that the poster gave as `from:`.
    ///
    /// To listen with it as the owner, cast it to a class or a protocol first: Swift 6.3 does not compile an
    /// owner of this type.
    public let sender: (any AnyObject & Sendable)?
    /// The name of the channel, where it has one.
    public let channelName: String?
    /// Whether the message was posted in this process or came in over a bridge.
    public let origin: Origin

    /// Creates a post, for tests of what is handed one.
    public init(
        _ message: Message,
        sender: (any AnyObject & Sendable)? = nil,
        channelName: String? = nil,
        origin: Origin = .local
    ) {
        self.message = message
        self.sender = sender
        self.channelName = channelName
        self.origin = origin
    }

    @usableFromInline
    init(_ message: Message, _ context: PostContext) {
        self.init(message, sender: context.sender, channelName: context.channelName, origin: context.origin)
    }
}
