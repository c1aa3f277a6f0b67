internal import Channels

/// Delays between retries, each twice as long as the one before, up to a limit.
public struct Backoff: Hashable, Sendable {
    /// The delay before the first retry.
    public var first: Duration
    /// The longest delay. If it equals ``first``, all delays are equal.
    public var limit: Duration

    /// Creates a back-off.
    ///
    /// - Precondition: No duration is negative.
    public init(first: Duration = .milliseconds(100), limit: Duration = .seconds(30)) {
        self.first = first
        self.limit = limit
        check()
    }

    /// Traps if a duration is negative: they may have been changed since the back-off was created.
    func check() {
        require(
            first >= .zero && limit >= .zero,
            "Backoff(first: \(first), limit: \(limit)) is not a valid back-off: use durations of .zero or more"
        )
    }

    /// Returns the delay before a retry, counted from 1.
    ///
    /// - Complexity: O(log(`limit` / `first`)).
    public func delay(before repetition: Int) -> Duration {
        var delay = min(first, limit)
        guard delay > .zero else { return delay }
        for _ in 1..<max(repetition, 1) {
            // Compared before doubling, because the product might overflow.
            guard delay <= limit / 2 else { return limit }
            delay *= 2
        }
        return delay
    }
}
