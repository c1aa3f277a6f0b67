#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The reading of a clock in nanoseconds: of the monotonic one, unless another is named.
@inline(__always)
func nanoseconds(_ clock: clockid_t = CLOCK_MONOTONIC) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The value below which a fraction of sorted values lies.
func quantile(_ sorted: [Double], _ fraction: Double) -> Double {
    sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))]
}
