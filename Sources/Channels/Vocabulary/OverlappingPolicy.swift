/// What happens to a message that arrives while an asynchronous listener is handling another.
///
/// ```swift
/// typed.listen(self, overlapping: .replace) { me, text in await me.search(text) }
/// ```
public struct OverlappingPolicy: Equatable, Sendable {
    package enum Kind: Sendable { case queue, replace, ignore, concurrent }

    package let kind: Kind
    /// How many calls may run at the same time.
    package let calls: Int

    /// Queues the message: one call at a time, in the order posted.
    public static let queue = OverlappingPolicy(kind: .queue, calls: 1)

    /// Cancels the running call, and handles the newest message once that call has returned.
    ///
    /// Older queued messages are dropped and counted. A buffering policy has no effect. `postAndWait` reports the
    /// message of a replaced call as dropped, even if the call completes. An error of that call raises no fault. If the
    /// newer message arrives just as a call begins, the call begins cancelled.
    public static let replace = OverlappingPolicy(kind: .replace, calls: 1)

    /// Drops and counts the message.
    ///
    /// A buffering policy has no effect. Registering such a listener on a state traps, because the last value delivered
    /// might not be the one stored.
    public static let ignore = OverlappingPolicy(kind: .ignore, calls: 1)

    /// Handles up to `count` messages at a time and queues the rest. Calls are started in the order posted.
    /// On an actor their bodies also begin in that order; nonisolated calls may overtake each other.
    /// - Precondition: `count` is positive.
    public static func concurrent(_ count: Int) -> OverlappingPolicy {
        require(count > 0, "OverlappingPolicy.concurrent(\(count)): the count must be positive; write 1 or more")
        return OverlappingPolicy(kind: .concurrent, calls: count)
    }
}
