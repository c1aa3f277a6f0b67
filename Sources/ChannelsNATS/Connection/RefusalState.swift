#if NATS
/// Whether the server permits a subscription, and when to try again: the transitions, without locks.
///
/// After a refusal, an attempt is always awaited or under way, whatever is told in which order: a refusal may be told while
/// its attempt is being made, or long after it was taken for granted.
struct RefusalState {
    /// An attempt to subscribe again, to be made after the pause that belongs to so many refusals in a row.
    struct Attempt {
        fileprivate let number: Int
        let refusals: Int
    }

    private enum Phase {
        case permitted
        case waiting
        case trying(isRefused: Bool)
    }

    private var phase = Phase.permitted
    private var refusals = 0
    /// The number of the last attempt. Earlier ones are not made any more.
    private var number = 0

    /// Records a refusal.
    ///
    /// - Returns: The attempt to schedule; nil if there is one.
    mutating func refused() -> Attempt? {
        switch phase {
        case .permitted: return schedule()
        case .waiting: return nil
        case .trying:
            phase = .trying(isRefused: true)
            return nil
        }
    }

    /// - Returns: Whether the attempt is to be made now.
    mutating func begin(_ attempt: Attempt) -> Bool {
        guard attempt.number == number, case .waiting = phase else { return false }
        phase = .trying(isRefused: false)
        return true
    }

    /// Records how an attempt ended, as far as is known.
    ///
    /// - Returns: The attempt to schedule; nil if there is none, or it is not needed.
    mutating func end(_ attempt: Attempt, isRefused: Bool) -> Attempt? {
        guard attempt.number == number, case .trying(let wasRefused) = phase else { return isRefused ? refused() : nil }
        if isRefused || wasRefused { return schedule() }
        (phase, refusals) = (.permitted, 0)
        return nil
    }

    /// Records that the subscription begins on another connection, on which it may be permitted.
    mutating func restart() { (phase, refusals, number) = (.permitted, 0, number + 1) }

    private mutating func schedule() -> Attempt {
        (phase, refusals, number) = (.waiting, refusals + 1, number + 1)
        return Attempt(number: number, refusals: refusals)
    }
}
#endif
