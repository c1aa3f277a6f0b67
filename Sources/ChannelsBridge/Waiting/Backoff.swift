internal import Channels

/// Delays between retries, which grow up to a limit.
public struct Backoff: Hashable, Sendable {
    /// The delay before the first retry.
    public var first: Duration
    /// The factor by which each delay exceeds the previous one.
    public var factor: Int
    /// The longest delay.
    public var limit: Duration

    /// Creates a back-off.
    ///
    /// - Precondition: `factor` is at least 1 and no duration is negative.
    public init(first: Duration = .milliseconds(100), factor: Int = 2, limit: Duration = .seconds(30)) {
        self.first = first
        self.factor = factor
        self.limit = limit
        check()
    }

    /// Traps if its values, which may have been changed since, make no back-off.
    func check() {
        require(
            factor >= 1 && first >= .zero && limit >= .zero,
            "Backoff(first: \(first), factor: \(factor), limit: \(limit)) is not a valid back-off: use a factor of 1 or more, "
                + "and durations of .zero or more"
        )
    }

    /// Returns the delay before a retry, counted from 1.
    ///
    /// - Complexity: O(log(`limit` / `first`)).
    public func delay(before repetition: Int) -> Duration {
        var delay = min(first, limit)
        guard factor > 1, delay > .zero else { return delay }
        for _ in 1..<max(repetition, 1) {
            // The product might be too large for a duration.
            guard delay <= limit / factor else { return limit }
            delay *= factor
        }
        return delay
    }
}
