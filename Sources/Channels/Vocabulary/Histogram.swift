/// How often something took how long.
///
/// Times are counted in classes, each twice as wide as the one before, so that a nanosecond and a minute fit
/// into 40 numbers. A time read from a class is too long by a factor of two at most.
public struct Histogram: Sendable {
    /// Number *n* is how often it took less than 2^*n* nanoseconds, and not less than half of that. Without
    /// the zeros at the end; the 40th class holds everything longer.
    public let counts: [Int]
    /// All times together, in nanoseconds.
    public let totalNanoseconds: Int
    /// The longest time, in nanoseconds.
    public let longestNanoseconds: Int

    /// Creates a histogram, for tests of what shows one.
    public init(counts: [Int] = [], totalNanoseconds: Int = 0, longestNanoseconds: Int = 0) {
        self.counts = counts
        self.totalNanoseconds = totalNanoseconds
        self.longestNanoseconds = longestNanoseconds
    }

    /// How many times were counted.
    public var count: Int { counts.reduce(0, +) }

    /// All times together.
    public var total: Duration { .nanoseconds(totalNanoseconds) }

    /// The longest time.
    public var longest: Duration { .nanoseconds(longestNanoseconds) }

    /// The mean; nil if nothing was counted.
    public var mean: Duration? { count == 0 ? nil : .nanoseconds(totalNanoseconds / count) }

    /// The time that a share of all did not exceed, rounded up to the end of its class: `percentile(0.99)`.
    /// Nil if nothing was counted.
    ///
    /// - Parameter share: From 0 to 1. What is less or more is taken for these; traps for what is not a number.
    public func percentile(_ share: Double) -> Duration? {
        require(!share.isNaN, "Histogram.percentile(\(share)): the share must be a number from 0 to 1")
        let count = count
        guard count > 0 else { return nil }
        var rest = Int((Double(count) * min(max(share, 0), 1)).rounded(.up))
        for (index, number) in counts.enumerated() {
            rest -= number
            if rest <= 0 { return .nanoseconds(min(1 << index, longestNanoseconds)) }
        }
        return longest
    }
}
