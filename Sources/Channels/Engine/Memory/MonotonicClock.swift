internal import CChannels

/// The system's monotonic clock.
enum MonotonicClock {
    /// The time now, in nanoseconds since some time in the past.
    static var now: Int { Int(truncatingIfNeeded: channels_nanoseconds()) }
}
