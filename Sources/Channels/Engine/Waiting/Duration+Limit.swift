/// The one place that says how long a limit of time can be. The end of a longer one cannot be expressed by every
/// clock and timer, which add it to the present.
extension Duration {
    /// This time as a limit: not less than zero, and not more than 31 years.
    package var asLimit: Duration { min(max(self, .zero), .seconds(1_000_000_000)) }

    /// The nanoseconds of this limit. Not an `Int`, which may have 32 bits: they last for two seconds.
    package var limitInNanoseconds: Int64 {
        let (seconds, attoseconds) = asLimit.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
