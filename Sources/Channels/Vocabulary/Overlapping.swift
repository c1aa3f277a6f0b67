/// What happens to a message that arrives while an asynchronous listener is still busy with another.
///
/// ```swift
/// typed.listen(self, overlapping: .replace) { me, text in await me.search(text) }
/// ```
public struct Overlapping: Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable { case queue, replace, ignore, concurrent }

    package let kind: Kind
    /// How many calls may run at a time.
    package let calls: Int

    /// It waits: one call at a time, in the order posted.
    public static let queue = Overlapping(kind: .queue, calls: 1)

    /// The task of the running call is cancelled, and the newest message is next once that call has ended. What waited
    /// in between is dropped and counted; a buffering policy has no effect. `postAndWait` reports a replaced call as
    /// dropped, even if it runs to its end. An error that it throws is no fault.
    public static let replace = Overlapping(kind: .replace, calls: 1)

    /// It is dropped and counted; a buffering policy has no effect. Not for a state, which could end with a value other
    /// than the one stored: that traps.
    public static let ignore = Overlapping(kind: .ignore, calls: 1)

    /// The listener is called with it at once if fewer than `count` calls run; otherwise it waits. Calls start in the
    /// order posted, and on an actor they begin in that order; without isolation, they may overtake each other.
    /// - Precondition: `count` is positive.
    public static func concurrent(_ count: Int) -> Overlapping {
        require(count > 0, "Overlapping.concurrent(\(count)): the count must be positive")
        return Overlapping(kind: .concurrent, calls: count)
    }

    /// The policy as it is written in code: `concurrent(4)`.
    public var description: String { kind == .concurrent ? "concurrent(\(calls))" : "\(kind)" }
}
