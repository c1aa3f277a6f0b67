internal import CChannels
internal import Synchronization

/// A post that a thread has under way, as seen by other threads.
///
/// `sequence` is bumped before `list` is set, so a pair of both names one post: it has ended once either has
/// changed.
struct HazardSlot: ~Copyable {
    /// The address of the list being read, or 0. Written by the owning thread only.
    let list = Atomic<UInt>(0)
    /// The number of posts that have used this slot. Written by the owning thread only.
    let sequence = Atomic<UInt>(0)
}

/// What the library knows about a thread: the posts it has under way.
///
/// Records are never freed; one whose thread has ended is reused by another thread. `top` and `depth` belong
/// to the owning thread, the slots are atomic, `isTaken` is claimed by an exchange, and the rest is constant.
@safe
struct ThreadRecord: ~Copyable {
    /// The most posts nested on one thread, over all channels.
    static let deepest = 1_024
    /// What the posts inside an outermost one may cost.
    private static let mostSpent = 1 << 24
    /// Up to how many posts under way one more is counted by itself, and not with those before it.
    private static let freeDepth = 2
    /// How many bytes of the stack are kept for what a listener does beside posting.
    static let reservedStack: UInt = 64 << 10
    /// Room for the hazards of ``deepest`` posts and a few of the library's own.
    static let slotCount = deepest + 64

    /// The innermost post under way on this thread.
    var top: FrameReference?
    /// Whether a fault handler runs on this thread.
    var isReportingFault = false
    /// The number of posts under way on this thread.
    var depth = 0
    /// How many mailboxes are being emptied on this thread.
    var drains = 0
    /// What the posts made inside the outermost one have cost, see `spends`; that begins with 0.
    var spent = 0
    /// How many posts have been refused because of that.
    private var refused = 0
    /// The lowest address of the thread's stack; 0 as long as nobody has asked.
    fileprivate var stackEnd: UInt = 0
    fileprivate let slots: UnsafeMutablePointer<HazardSlot>
    /// The number of slots ever used.
    let used = Atomic<Int>(0)
    /// Whether posts must end with a full barrier, because the system has none that a canceller can run on
    /// every thread.
    let endsWithBarrier: Bool
    let isTaken = Atomic<Bool>(true)
    /// One bit: threads are divided into 64 groups, and lists remember which have posted.
    let group: UInt64
    /// The record of the group registered before this one.
    fileprivate let next: ThreadReference?

    fileprivate init(group: UInt64, next: ThreadReference?, endsWithBarrier: Bool) {
        // Never freed, as records are not.
        unsafe slots = .allocate(capacity: Self.slotCount)
        for index in 0..<Self.slotCount { unsafe (slots + index).initialize(to: HazardSlot()) }
        self.group = group
        self.next = next
        self.endsWithBarrier = endsWithBarrier
    }

    /// Whether a listener is being called on this thread, as far as the thread knows.
    var isInsideListener: Bool { top != nil || drains > 0 }

    /// Counts a post made inside others.
    ///
    /// What follows from one post is bounded whatever its shape, see `FanOut`; here all posts count, not
    /// those that wait: 16 million are too many at the third level, 262,144 from the ninth on.
    ///
    /// - Returns: 0 or, if there have been too many, how many have been refused since.
    mutating func spends() -> Int {
        if spent <= Self.mostSpent {
            // What went before has ended. So a listener that never returns, because the program runs inside
            // it, may post for ever.
            if depth <= Self.freeDepth { spent = 0 }
            spent += FanOut.cost(ofDepth: depth + 1)
            refused = 0
        }
        // What the listeners of the outermost post themselves post goes on.
        guard spent > Self.mostSpent, depth > 1 else { return 0 }
        refused += 1
        return refused
    }

    /// How much of the thread's stack is left. One that is not the thread's own is not bounded.
    var stackLeft: UInt {
        mutating get {
            // Read at a thread's first nested post: it takes the system a while.
            if stackEnd == 0 { stackEnd = max(UInt(channels_stack_end()), 1) }
            let position = UInt(channels_stack_position())
            return position > stackEnd ? position - stackEnd : .max
        }
    }

    /// The slot of the post at a depth below ``slotCount``.
    @inline(__always)
    func slot(_ depth: Int) -> SlotReference { unsafe SlotReference(slots + depth) }
}

/// A slot, which is never freed, of a thread's record.
@safe
struct SlotReference: @unchecked Sendable {  // a constant pointer to what is atomic
    fileprivate let pointer: UnsafeMutablePointer<HazardSlot>

    @inline(__always)
    fileprivate init(_ pointer: UnsafeMutablePointer<HazardSlot>) { unsafe self.pointer = pointer }

    var pointee: HazardSlot { @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) } }
}

/// A thread's record.
///
/// `@safe` because records are never freed.
@safe
struct ThreadReference: @unchecked Sendable {  // a constant pointer; see the guards of the record
    private let pointer: UnsafeMutablePointer<ThreadRecord>

    @inline(__always)
    private init(_ pointer: UnsafeMutablePointer<ThreadRecord>) { unsafe self.pointer = pointer }

    var pointee: ThreadRecord {
        @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) }
        @inline(__always) nonmutating unsafeMutableAddress { unsafe pointer }
    }

    /// The address as a number, for comparing.
    var address: UInt { unsafe UInt(bitPattern: pointer) }

    /// The record of the calling thread.
    @inline(__always)
    static var current: ThreadReference {
        if let record = unsafe channels_get_thread_record() {
            // Set by `register` only, to a record.
            return unsafe ThreadReference(record.assumingMemoryBound(to: ThreadRecord.self))
        }
        return register()
    }

    @inline(never)
    private static func register() -> ThreadReference {
        let record = free() ?? create()
        record.pointee.stackEnd = 0
        unsafe channels_set_thread_record(UnsafeMutableRawPointer(record.pointer)) { record in
            // The thread has ended, and with it its posts. This is the record set above.
            let ended = unsafe ThreadReference(record!.assumingMemoryBound(to: ThreadRecord.self))
            ended.pointee.isTaken.store(false, ordering: .releasing)
        }
        return record
    }

    /// A record whose thread has ended.
    private static func free() -> ThreadReference? {
        for group in 0..<UInt64.bitWidth {
            var next = newest(of: group)
            while let record = next {
                if !record.pointee.isTaken.load(ordering: .relaxed),
                    !record.pointee.isTaken.exchange(true, ordering: .acquiring)
                {
                    return record
                }
                next = record.pointee.next
            }
        }
        return nil
    }

    private static func create() -> ThreadReference {
        let record = unsafe ThreadReference(.allocate(capacity: 1))
        let endsWithBarrier = !channels_barrier_on_all_threads()
        let group = count.wrappingAdd(1, ordering: .relaxed).oldValue % UInt64.bitWidth
        var head = newest(of: group)
        while true {
            unsafe record.pointer.initialize(
                to: ThreadRecord(group: 1 << UInt64(group), next: head, endsWithBarrier: endsWithBarrier)
            )
            let (exchanged, original) = unsafe heads[group].compareExchange(
                expected: head?.address ?? 0,
                desired: record.address,
                ordering: .sequentiallyConsistent
            )
            if exchanged { return record }
            // Not published yet.
            unsafe record.pointee.slots.deinitialize(count: ThreadRecord.slotCount)
            unsafe record.pointee.slots.deallocate()
            unsafe record.pointer.deinitialize(count: 1)
            head = unsafe UnsafeMutablePointer(bitPattern: original).map { unsafe ThreadReference($0) }
        }
    }

    /// The number of records.
    private static let count = Atomic<Int>(0)

    /// The record registered last in each group; they form chains that only grow.
    // Unsafe for the pointer only, which never changes: what it points to is atomic and never freed.
    nonisolated(unsafe) private static let heads: UnsafeMutablePointer<Atomic<UInt>> = {
        let groups = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: UInt64.bitWidth)
        for index in 0..<UInt64.bitWidth { unsafe (groups + index).initialize(to: Atomic(0)) }
        return unsafe groups
    }()

    private static func newest(of group: Int) -> ThreadReference? {
        // Set in `create` only, to the address of a record.
        let address = unsafe heads[group].load(ordering: .sequentiallyConsistent)
        return unsafe UnsafeMutablePointer(bitPattern: address).map { unsafe ThreadReference($0) }
    }

    /// Visits the slots of a list's posts under way on any thread, as long as the body returns true.
    ///
    /// - Complexity: O(*n*) in the number of threads that have posted on the list, and of those in their
    ///   groups.
    @inline(__always)
    fileprivate static func forEachPost(on list: ListenerList, _ body: (SlotReference) -> Bool) {
        // The calling thread obtains its record before it looks. Otherwise it could be given that of a thread
        // that posted and ended in between, and mistake that post for its own.
        _ = current
        var groups = list.posters.load(ordering: .sequentiallyConsistent)
        while groups != 0 {
            var next = newest(of: groups.trailingZeroBitCount)
            groups &= groups - 1
            while let record = next {
                let used = record.pointee.used.load(ordering: .sequentiallyConsistent)
                for index in 0..<used {
                    let slot = record.pointee.slot(index)
                    guard slot.pointee.list.load(ordering: .sequentiallyConsistent) == list.address else { continue }
                    if !body(slot) { return }
                }
                next = record.pointee.next
            }
        }
    }
}

/// A post that is waited for: a slot, and its sequence number then.
struct PostUnderWay: Sendable {
    private let slot: SlotReference
    private let sequence: UInt

    private init(_ slot: SlotReference) {
        self.slot = slot
        sequence = slot.pointee.sequence.load(ordering: .acquiring)
    }

    /// The posts of a list that are under way on any thread.
    @inline(never)
    static func posts(on list: ListenerList) -> [PostUnderWay] {
        var found: [PostUnderWay] = []
        ThreadReference.forEachPost(on: list) { slot in
            found.append(PostUnderWay(slot))
            return true
        }
        return found
    }

    /// Whether there are any.
    static func hasPosts(on list: ListenerList) -> Bool {
        var isFound = false
        ThreadReference.forEachPost(on: list) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Whether this very post of the list has ended.
    func hasEnded(on list: UInt) -> Bool {
        slot.pointee.list.load(ordering: .sequentiallyConsistent) != list
            || slot.pointee.sequence.load(ordering: .acquiring) != sequence
    }

    /// Whether it is a post of the calling thread.
    var isOnCallingThread: Bool {
        let own = ThreadReference.current.pointee.slot(0)
        return unsafe slot.pointer >= own.pointer && slot.pointer < own.pointer + ThreadRecord.slotCount
    }
}
