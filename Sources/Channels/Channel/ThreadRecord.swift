internal import CChannels
internal import Synchronization

/// One post that a thread has under way, as other threads see it.
///
/// `sequence` is bumped before `list` is set, so a pair of both names one post: it has ended once either has changed.
struct HazardSlot: ~Copyable {
    /// The address of the list being read, or 0. Written by the owning thread only.
    let list = Atomic<UInt>(0)
    /// How many posts have used this slot. Written by the owning thread only.
    let sequence = Atomic<UInt>(0)
}

/// A post that somebody waits for: a slot, and the sequence it had.
struct PostUnderWay {
    let slot: UnsafeMutablePointer<HazardSlot>
    let sequence: UInt

    /// Whether this very post of the list has ended.
    func hasEnded(on list: UInt) -> Bool {
        slot.pointee.list.load(ordering: .sequentiallyConsistent) != list
            || slot.pointee.sequence.load(ordering: .acquiring) != sequence
    }

    /// Whether it stands on the calling thread's own stack.
    var isOnCallingThread: Bool {
        let own = ThreadRecord.current.pointee.slots
        return slot >= own && slot < own + ThreadRecord.slotCount
    }
}

/// What the library knows of a thread: the posts it has under way.
///
/// Records are never freed; one whose thread has ended serves the next thread. `top` and `depth` belong to the owning thread, the slots
/// are atomic, `isTaken` is claimed by an exchange, and the rest is constant.
struct ThreadRecord: ~Copyable {
    /// How many posts may be nested on one thread, over all channels.
    static let deepest = 1_024

    typealias Pointer = UnsafeMutablePointer<ThreadRecord>

    /// The innermost post under way on this thread.
    var top: PostFrame.Pointer?
    /// Whether a fault handler runs on this thread.
    var isReportingFault = false
    /// How many posts are under way on this thread.
    var depth = 0
    /// Room for the hazards of ``deepest`` posts and a few of the library's own.
    let slots: UnsafeMutablePointer<HazardSlot>
    /// How many of the slots have ever been used.
    let used = Atomic<Int>(0)
    /// Whether posts must end with a full barrier, because the system has none that a canceller could run on every thread.
    let endsWithBarrier: Bool
    let isTaken = Atomic<Bool>(true)
    /// One bit: threads are told apart in so many groups, and lists remember which have posted.
    let group: UInt64
    /// The record of the group registered before this one.
    let next: UInt

    static let slotCount = deepest + 64

    init(group: UInt64, next: UInt, endsWithBarrier: Bool) {
        slots = .allocate(capacity: Self.slotCount)
        for index in 0..<Self.slotCount { (slots + index).initialize(to: HazardSlot()) }
        self.group = group
        self.next = next
        self.endsWithBarrier = endsWithBarrier
    }

    /// How many records there are.
    private static let count = Atomic<Int>(0)
    /// The record registered last in each group; they form chains that only grow.
    // Unsafe for the pointer only, which never changes: what it points to is atomic and never freed.
    nonisolated(unsafe) private static let newest: UnsafeMutablePointer<Atomic<UInt>> = {
        let groups = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: UInt64.bitWidth)
        for index in 0..<UInt64.bitWidth { (groups + index).initialize(to: Atomic(0)) }
        return groups
    }()

    /// The record of the calling thread.
    @inline(__always)
    static var current: Pointer {
        if let record = channels_get_thread_record() {
            // Set by `register` only, to a record, and records are never freed.
            return record.assumingMemoryBound(to: ThreadRecord.self)
        }
        return register()
    }

    /// The same as a number, for comparing.
    static var currentAddress: UInt { UInt(bitPattern: current) }

    /// The posts of a list that are under way on any thread.
    ///
    /// - Complexity: O(*n*) in the number of threads that have posted on the list, and of those in their groups.
    @inline(never)
    static func posts(on list: ListenerList) -> [PostUnderWay] {
        var found: [PostUnderWay] = []
        forEachPost(on: list) { slot in
            found.append(PostUnderWay(slot: slot, sequence: slot.pointee.sequence.load(ordering: .acquiring)))
            return true
        }
        return found
    }

    /// Whether there are any.
    static func hasPosts(on list: ListenerList) -> Bool {
        var isFound = false
        forEachPost(on: list) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Visits the slots of a list's posts, as long as the body returns true.
    @inline(__always)
    private static func forEachPost(on list: ListenerList, _ body: (UnsafeMutablePointer<HazardSlot>) -> Bool) {
        // The calling thread has its record before it looks: else it could be given that of a thread that posted and ended in between, and take
        // that post for its own, which it alone would look after.
        _ = current
        var groups = list.posters.load(ordering: .sequentiallyConsistent)
        while groups != 0 {
            var address = newest[groups.trailingZeroBitCount].load(ordering: .sequentiallyConsistent)
            groups &= groups - 1
            while let record = Pointer(bitPattern: address) {
                let used = record.pointee.used.load(ordering: .sequentiallyConsistent)
                let slots = record.pointee.slots
                for index in 0..<used where (slots + index).pointee.list.load(ordering: .sequentiallyConsistent) == list.address {
                    if !body(slots + index) { return }
                }
                address = record.pointee.next
            }
        }
    }

    @inline(never)
    private static func register() -> Pointer {
        let record = free() ?? create()
        channels_set_thread_record(UnsafeMutableRawPointer(record)) { record in
            // The thread has ended: nothing of it is under way.
            record!.assumingMemoryBound(to: ThreadRecord.self).pointee.isTaken.store(false, ordering: .releasing)
        }
        return record
    }

    /// A record whose thread has ended.
    private static func free() -> Pointer? {
        for group in 0..<UInt64.bitWidth {
            var address = newest[group].load(ordering: .sequentiallyConsistent)
            while let record = Pointer(bitPattern: address) {
                if !record.pointee.isTaken.load(ordering: .relaxed), !record.pointee.isTaken.exchange(true, ordering: .acquiring) {
                    return record
                }
                address = record.pointee.next
            }
        }
        return nil
    }

    private static func create() -> Pointer {
        let record = Pointer.allocate(capacity: 1)
        let endsWithBarrier = !channels_barrier_on_all_threads()
        let group = count.wrappingAdd(1, ordering: .relaxed).oldValue % UInt64.bitWidth
        var head = newest[group].load(ordering: .sequentiallyConsistent)
        while true {
            record.initialize(to: ThreadRecord(group: 1 << UInt64(group), next: head, endsWithBarrier: endsWithBarrier))
            let (exchanged, original) = newest[group].compareExchange(
                expected: head,
                desired: UInt(bitPattern: record),
                ordering: .sequentiallyConsistent
            )
            if exchanged { return record }
            record.pointee.slots.deinitialize(count: slotCount)
            record.pointee.slots.deallocate()
            record.deinitialize(count: 1)
            head = original
        }
    }
}
