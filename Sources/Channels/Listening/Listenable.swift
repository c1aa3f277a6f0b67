/// Anything that can be listened to: a channel, a state, a named channel, its posts, the channels that match
/// a pattern.
///
/// The forms of
/// ``listen(_:priority:once:buffering:fileID:line:isolation:_:)-(_,_,_,_,_,_,_,(Owner,Message)->Void)`` and
/// the sequences are written once, for all of them.
///
/// To make a source of your own listenable, forward the listeners you are given to a source that there is:
/// see ``Listener``.
public protocol Listenable<Message>: Sendable {
    /// What listeners hear.
    associatedtype Message: Sendable

    /// Registers a listener that a form of `listen`, `messages` or `next` has built.
    ///
    /// - Parameters:
    ///   - listener: The listener. It can only be handed on, as it is or adapted.
    ///   - isolation: The isolation of whoever registers: a state calls a listener of the same isolation with
    ///     its current value before this returns.
    /// - Returns: The listener's token.
    func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken
}
