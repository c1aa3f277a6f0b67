internal import CChannels

enum MonotonicClock {
    /// The system's monotonic time in nanoseconds.
    static var now: Int { Int(truncatingIfNeeded: channels_nanoseconds()) }
}
