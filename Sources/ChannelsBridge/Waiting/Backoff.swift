internal import Channels

/// Delays between retries, each twice the one before, up to a limit.
public struct Backoff: Hashable, Sendable {
    /// The delay before the first retry.
    public var first: Duration
    /// The longest delay. With ``first``, all delays are equal.
    public var limit: Duration

    /// Creates a back-off.
    ///
    /// - Precondition: No duration is negative.
    public init(first: Duration = .milliseconds(100), limit: Duration = .seconds(30)) {
        self.first = first
        self.limit = limit
        check()
    }

    /// Traps if its values, which may have been changed since, make no back-off.
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
            // The product might be too large for a duration.
            guard delay <= limit / 2 else { return limit }
            delay *= 2
        }
        return delay
    }
}
