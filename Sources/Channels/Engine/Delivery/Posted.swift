/// A message with its sender, the name of its channel and its origin.
///
/// Passed to listeners of ``Listenable/posts`` and of patterns, and to interceptors.
@frozen
public struct Posted<Message: Sendable>: Sendable {
    /// The message.
    public let message: Message
    @usableFromInline let envelope: Envelope?

    /// The object passed as `from:`. To make it the owner of a listener, cast it to a class or a protocol
    /// first: Swift 6.3 does not accept this existential as an owner.
    @inlinable public var sender: (any AnyObject & Sendable)? { envelope?.sender }
    /// The name of the channel; nil if it has none. For the `posts` of a pattern, the text of the pattern.
    @inlinable public var channelName: String? { envelope?.channelName }
    /// Whether the message was posted here or came over a bridge.
    @inlinable public var origin: MessageOrigin { envelope?.origin ?? .local }

    /// The identifier, time and attempt of a message that came in over a bridge; nil for one posted in this
    /// process, and for states.
    public var delivery: RemoteDelivery? { envelope?.delivery }

    /// Creates a value, for tests of code that takes one.
    public init(
        _ message: Message,
        sender: (any AnyObject & Sendable)? = nil,
        channelName: String? = nil,
        origin: MessageOrigin = .local,
        delivery: RemoteDelivery? = nil
    ) {
        self.init(message, Envelope(channelName, sender: sender, origin: origin, delivery))
    }

    @inlinable
    init(_ message: consuming Message, _ envelope: consuming Envelope?) {
        self.message = message
        self.envelope = envelope
    }
}
