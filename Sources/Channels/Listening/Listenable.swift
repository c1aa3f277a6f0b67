/// A source of messages: a channel, a state, a named channel, its posts, or the channels of a pattern.
///
/// Your own types conform by forwarding listeners to a source, as ``Listener`` shows.
public protocol Listenable<Message>: Sendable {
    /// The type of the messages.
    associatedtype Message: Sendable

    /// Registers a listener that `listen`, `messages` or `first` has built.
    /// - Parameters:
    ///   - listener: The listener. All you can do with it is forward it, as it is or adapted.
    ///   - isolation: The caller's isolation. A state may call a listener of the same isolation directly.
    func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken
}
