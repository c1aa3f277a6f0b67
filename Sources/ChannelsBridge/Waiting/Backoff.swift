/// How long to wait before something is tried again: longer each time, up to a limit.
public struct Backoff: Hashable, Sendable {
    /// Before the first repetition.
    public var first: Duration
    /// By how much each wait is longer than the one before.
    public var factor: Int
    /// The longest wait.
    public var limit: Duration

    /// Creates a back-off.
    ///
    /// - Precondition: `factor` is at least 1 and no duration is negative.
    public init(first: Duration = .milliseconds(100), factor: Int = 2, limit: Duration = .seconds(30)) {
        precondition(
            factor >= 1 && first >= .zero && limit >= .zero,
            "Backoff(first: \(first), factor: \(factor), limit: \(limit)) does not wait longer each time"
        )
        self.first = first
        self.factor = factor
        self.limit = limit
    }

    /// The wait before the repetition of this number, from 1.
    ///
    /// - Complexity: O(log(`limit` / `first`)).
    public func delay(before repetition: Int) -> Duration {
        var delay = min(first, limit)
        guard factor > 1, delay > .zero else { return delay }
        for _ in 1..<max(repetition, 1) {
            guard delay < limit else { break }
            delay = min(delay * factor, limit)
        }
        return delay
    }
}
