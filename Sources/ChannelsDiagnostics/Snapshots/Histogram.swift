internal import Channels

extension ListenerSnapshot {
    /// Counts durations in 40 buckets, each twice as wide as the last. Percentiles overestimate by at most a
    /// factor of two.
    public struct Histogram: Sendable {
        /// `counts[n]` is the number of durations from 2^(*n*-1) up to 2^*n* nanoseconds. The 40th bucket has all
        /// longer ones; trailing zeros are omitted.
        package let counts: [Int]
        /// The sum of all durations.
        public let total: Duration
        /// The longest duration.
        public let longest: Duration

        /// The number of durations.
        public var count: Int { counts.reduce(0, +) }

        /// The mean duration; nil if nothing was counted.
        public var mean: Duration? { count == 0 ? nil : total / count }

        /// Returns the duration that the given share of the durations did not exceed, rounded up to the end of
        /// its bucket; nil if nothing was counted.
        /// - Parameter share: A number from 0 to 1, as in `quantile(0.99)`. Values outside that range are
        ///   clamped; NaN traps.
        public func quantile(_ share: Double) -> Duration? {
            require(
                !share.isNaN,
                "Histogram.quantile(\(share)): the share must be between 0 and 1; write 0.5 for the median"
            )
            let count = count
            guard count > 0 else { return nil }
            var rest = Int((Double(count) * min(max(share, 0), 1)).rounded(.up))
            for (index, number) in counts.enumerated() {
                rest -= number
                // `Int64`, because an `Int` may have 32 bits.
                if rest <= 0 { return min(.nanoseconds(Int64(1) << index), longest) }
            }
            return longest
        }
    }
}
