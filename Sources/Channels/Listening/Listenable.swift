/// Anything that can be listened to: a channel, a state, a named channel, its posts, the channels that match
/// a pattern.
///
/// The ten forms of `listen`, ``messages(buffering:priority:fileID:line:)`` and
/// ``next(isolation:fileID:line:where:)`` are written once, for all of them.
///
/// To make a source of your own listenable, forward the listeners you are given to an existing source: see
/// ``Listener``.
public protocol Listenable<Message>: Sendable {
    /// What listeners hear.
    associatedtype Message: Sendable

    /// Registers a listener that a form of `listen`, `messages` or `next` has built.
    ///
    /// - Parameters:
    ///   - listener: The listener. It can only be forwarded, as it is or adapted.
    ///   - isolation: The isolation of the caller: a state calls a listener of the same isolation with its
    ///     current value before this returns.
    /// - Returns: The listener's token.
    func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken
}
