internal import CChannels

enum MonotonicClock {
    /// The system's monotonic time in nanoseconds.
    static var now: Int64 { Int64(truncatingIfNeeded: channels_nanoseconds()) }
}
