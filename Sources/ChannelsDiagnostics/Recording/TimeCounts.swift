internal import Synchronization

/// A lock-free histogram of durations, with buckets that double. It is `@safe` because the memory lives as
/// long as this object and holds only atomics.
@safe
final class TimeCounts: @unchecked Sendable {  // a constant pointer to atomics
    /// Bucket *n* counts durations of less than 2^*n* nanoseconds. The last one counts all longer ones, of
    /// about 9 minutes or more.
    static let classCount = 40

    private let classes: UnsafeMutablePointer<Atomic<Int>>
    private let total = Atomic<Int64>(0)
    private let longest = Atomic<Int64>(0)

    init() {
        // Freed in `deinit`.
        unsafe classes = .allocate(capacity: Self.classCount)
        for index in 0..<Self.classCount { unsafe (classes + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe classes.deinitialize(count: Self.classCount)
        unsafe classes.deallocate()
    }

    func add(_ nanoseconds: Int64) {
        let time = max(nanoseconds, 0)
        let index = min(Int64.bitWidth - time.leadingZeroBitCount, Self.classCount - 1)
        unsafe classes[index].wrappingAdd(1, ordering: .relaxed)
        total.wrappingAdd(time, ordering: .relaxed)
        longest.max(time, ordering: .relaxed)
    }

    func reset() {
        for index in 0..<Self.classCount { unsafe classes[index].store(0, ordering: .relaxed) }
        total.store(0, ordering: .relaxed)
        longest.store(0, ordering: .relaxed)
    }

    var histogram: ListenerSnapshot.Histogram {
        var counts = (0..<Self.classCount).map { unsafe classes[$0].load(ordering: .relaxed) }
        while counts.last == 0 { counts.removeLast() }
        return ListenerSnapshot.Histogram(
            counts: counts,
            total: .nanoseconds(total.load(ordering: .relaxed)),
            longest: .nanoseconds(longest.load(ordering: .relaxed))
        )
    }
}
