internal import CChannels

package enum MonotonicClock {
    /// The system's monotonic time in nanoseconds.
    package static var now: Int64 { Int64(truncatingIfNeeded: channels_nanoseconds()) }
}
