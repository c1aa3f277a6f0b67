internal import Synchronization

/// The records of the threads that use the library, in 64 groups. Never freed but reused once their thread
/// has ended, so there are as many as there ever were threads at a time. Those without a thread have no slot
/// in use.
///
/// `lock` guards `spare`, `nextGroup` and changes of the chains, which are read without it: `heads` is
/// atomic, and `next` of a record in its chain does not change. `@safe` because the pointer is constant, and
/// its target is atomic and never freed.
@safe
final class ThreadRecords: @unchecked Sendable {  // guards: see above
    static let all = ThreadRecords()

    private static let groupCount = UInt64.bitWidth

    /// The address of the newest record of each group, or 0.
    private let heads: UnsafeMutablePointer<Atomic<UInt>>
    private let lock = SpinLock()
    /// The records without a thread, linked by `nextSpare`.
    @safe @exclusivity(unchecked) private var spare: ThreadReference?
    @safe @exclusivity(unchecked) private var nextGroup = 0

    private init() {
        unsafe heads = .allocate(capacity: Self.groupCount)
        for index in 0..<Self.groupCount { unsafe (heads + index).initialize(to: Atomic(0)) }
    }

    func take() -> ThreadReference {
        lock.withLock {
            if let record = spare {
                spare = record.pointee.nextSpare
                record.pointee.forgetSlots()
                return record
            }
            let group = nextGroup % Self.groupCount
            nextGroup += 1
            let next = unsafe heads[group].load(ordering: .relaxed)
            let record = ThreadReference.make(group: 1 << UInt64(group), next: next)
            // A thread enters its group before it posts, so a scan that does not meet it precedes its posts.
            unsafe heads[group].store(record.address, ordering: .sequentiallyConsistent)
            return record
        }
    }

    func giveBack(_ record: ThreadReference) {
        lock.withLock {
            record.pointee.nextSpare = spare
            spare = record
        }
    }

    /// Visits the records of some groups, as long as the body returns true. The body must not run user code.
    ///
    /// - Complexity: O(*n*) in the number of records of these groups.
    @inline(__always)
    func scan(_ wanted: UInt64, _ body: (ThreadReference) -> Bool) {
        // The calling thread obtains its record first. Otherwise it could be given that of a thread that
        // posted and ended in between, and mistake that post for its own.
        _ = ThreadReference.current
        var wanted = wanted
        while wanted != 0 {
            var next = unsafe heads[wanted.trailingZeroBitCount].load(ordering: .sequentiallyConsistent)
            wanted &= wanted - 1
            while let record = ThreadReference(address: next) {
                guard body(record) else { return }
                next = record.pointee.next
            }
        }
    }
}
