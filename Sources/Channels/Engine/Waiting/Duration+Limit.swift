/// The one place that says how long a time limit can be. Clocks and timers add it to the current time, and not all of
/// them can express the end of a longer one.
extension Duration {
    /// This duration as a time limit: at least zero, and at most 31 years.
    package var asLimit: Duration { min(max(self, .zero), .seconds(1_000_000_000)) }

    /// This limit in nanoseconds. Not an `Int`, which may have 32 bits, enough for only two seconds.
    package var limitInNanoseconds: Int64 {
        let (seconds, attoseconds) = asLimit.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
