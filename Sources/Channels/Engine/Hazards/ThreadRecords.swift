internal import Synchronization

/// The records of the threads that use the library, in 64 groups, each of which is a chain. When a thread ends, its
/// record is taken out, so that threads that came and went cost nothing. The record is never freed, but given to
/// another thread later.
///
/// A chain is walked without a lock. A record that is taken out keeps its `next`. A record that is put in again is
/// linked to the record that was first at that time. A walk that is at such a record therefore continues, and meets
/// every record that has been there since it began, perhaps some of them twice. (The model is
/// `Verification/Models/threads.pml`.)
///
/// `lock` guards `spare`, `nextGroup` and changes of the chains. `heads`, `occupied` and `next` of a record are atomic.
/// `@safe` because the pointer is constant, and its target is atomic and never freed.
@safe
final class ThreadRecords: @unchecked Sendable {  // guards: see above
    static let all = ThreadRecords()

    private static let groupCount = UInt64.bitWidth

    /// The address of the newest record of each group, or 0.
    private let heads: UnsafeMutablePointer<Atomic<UInt>>
    /// The groups that have records, one bit each.
    private let occupied = Atomic<UInt64>(0)
    private let lock = SpinLock()
    /// The records without a thread, linked by `nextSpare`.
    private var spare: ThreadReference?
    private var nextGroup = 0

    private init() {
        unsafe heads = .allocate(capacity: Self.groupCount)
        for index in 0..<Self.groupCount { unsafe (heads + index).initialize(to: Atomic(0)) }
    }

    func take() -> ThreadReference {
        lock.withLock {
            let record: ThreadReference
            if let former = spare {
                spare = former.pointee.nextSpare
                former.pointee.forgetSlots()
                record = former
            } else {
                record = .make(group: 1 << UInt64(nextGroup % Self.groupCount))
                nextGroup += 1
            }
            link(record)
            return record
        }
    }

    func giveBack(_ record: ThreadReference) {
        lock.withLock {
            unlink(record)
            record.pointee.nextSpare = spare
            spare = record
        }
    }

    /// Puts the record of a thread into its chain. A thread does this before it posts, so a walk that does not meet it
    /// precedes its posts.
    private func link(_ record: ThreadReference) {
        // A group is one bit.
        let group = record.pointee.group.trailingZeroBitCount
        let first = ThreadReference(address: unsafe heads[group].load(ordering: .relaxed))
        first?.pointee.previous = record
        record.pointee.previous = nil
        record.pointee.next.store(first?.address ?? 0, ordering: .releasing)
        unsafe heads[group].store(record.address, ordering: .sequentiallyConsistent)
        occupied.bitwiseOr(record.pointee.group, ordering: .sequentiallyConsistent)
    }

    /// Takes out the record of a thread that has ended. A walk that does not meet it comes after its posts.
    private func unlink(_ record: ThreadReference) {
        let (group, previous) = (record.pointee.group, record.pointee.previous)
        let next = record.pointee.next.load(ordering: .relaxed)
        ThreadReference(address: next)?.pointee.previous = previous
        if let previous {
            previous.pointee.next.store(next, ordering: .releasing)
        } else {
            unsafe heads[group.trailingZeroBitCount].store(next, ordering: .sequentiallyConsistent)
            if next == 0 { occupied.bitwiseAnd(~group, ordering: .sequentiallyConsistent) }
        }
    }

    /// Visits the records of some groups, as long as the body returns true. The body must not run user code.
    ///
    /// - Complexity: O(*n*) in the number of threads of these groups.
    func scan(_ wanted: UInt64, _ body: (ThreadReference) -> Bool) {
        // The calling thread obtains its record first. Otherwise it could be given that of a thread that
        // posted and ended in between, and mistake that post for its own.
        _ = ThreadReference.current
        var wanted = wanted & occupied.load(ordering: .sequentiallyConsistent)
        while wanted != 0 {
            var next = unsafe heads[wanted.trailingZeroBitCount].load(ordering: .sequentiallyConsistent)
            wanted &= wanted - 1
            while let record = ThreadReference(address: next) {
                guard body(record) else { return }
                next = record.pointee.next.load(ordering: .acquiring)
            }
        }
    }
}
