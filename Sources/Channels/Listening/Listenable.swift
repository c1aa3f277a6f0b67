/// A source of messages: a channel, a state, a named channel, the posts of one, the channels of a pattern.
///
/// A type of your own conforms by forwarding its listeners to an existing source: see ``Listener``.
public protocol Listenable<Message>: Sendable {
    /// The type of the messages.
    associatedtype Message: Sendable

    /// Registers a listener that `listen`, `messages` or `next` has built.
    /// - Parameters:
    ///   - listener: The listener. It can only be forwarded, as it is or adapted.
    ///   - isolation: The caller's isolation. A state may call a listener of the same isolation directly.
    func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken
}
