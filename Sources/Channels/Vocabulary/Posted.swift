/// A message with its sender, the name of its channel and its origin.
///
/// Passed to listeners of ``Listenable/posts`` and of patterns, and to interceptors.
@frozen
public struct Posted<Message: Sendable>: Sendable {
    /// The message.
    public let message: Message
    /// The object passed as `from:`. To make it the owner of a listener, cast it to a class or a protocol
    /// first: Swift 6.3 does not accept this existential as an owner.
    public let sender: (any AnyObject & Sendable)?
    @usableFromInline let place: PostPlace?
    /// The name of the channel; nil if it has none. For the `posts` of a pattern, the text of the pattern.
    @inlinable public var channelName: String? { place?.channelName }
    /// Whether the message was posted here or came over a bridge.
    @inlinable public var origin: Origin { place?.process.map { .remote($0) } ?? .local }

    /// The identifier, time and attempt of a message that came in over a bridge; nil for one posted in this
    /// process, and for states.
    public var delivery: RemoteDelivery? { place?.delivery }

    /// Creates a post, for tests of code that takes one.
    public init(
        _ message: Message,
        sender: (any AnyObject & Sendable)? = nil,
        channelName: String? = nil,
        origin: Origin = .local,
        delivery: RemoteDelivery? = nil
    ) {
        self.init(message, PostContext(sender: sender, place: .at(channelName, origin.process, delivery)))
    }

    @inlinable
    init(_ message: consuming Message, _ context: consuming PostContext) {
        self.message = message
        sender = context.sender
        place = context.place
    }
}
