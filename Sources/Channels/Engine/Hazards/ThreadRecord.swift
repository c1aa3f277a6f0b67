// Hazards: which thread uses what, so that nothing is freed that another thread may still read.
//
// Each thread has a record with a stack of slots. Before a thread reads a list, or a shard of names, it announces the
// address in a slot; afterwards it withdraws it. A thread that makes something unreachable looks for uses of that
// address (`HazardUse`) and keeps what it removed until they have ended. Both are in `HazardDomain`, the base class of
// lists and shards. No use waits or takes a lock. The proof is in `Decisions/ListenerList.md`.

internal import CChannels
internal import Synchronization

/// One thread's use of something shared, as other threads see it; written only by that thread. `sequence` is
/// incremented before `address` is set, so a use has ended once either has changed. (A use of a shard changes only its
/// address when it passes to a channel: see `HazardUse`.)
struct HazardSlot: ~Copyable {
    /// The address of what is used, or 0.
    let address = Atomic<UInt>(0)
    let sequence = Atomic<UInt>(0)
}

/// What the library knows about a thread. A record belongs to one thread at a time. The lock of ``ThreadRecords``
/// guards `previous` and `nextSpare`; `next`, `used` and the slots are atomic. Only the owning thread uses the other
/// variables.
@safe
struct ThreadRecord: ~Copyable {
    /// How many bytes of the stack are kept free for whatever a listener does other than posting.
    private static let reservedStack: UInt = 64 << 10
    /// How many slots a thread has. A post uses one for its list, and more if it is by name or reaches a pattern.
    static let slotCount = 8_192
    /// How many slots are kept free for what a listener does other than posting, such as looking up names or visiting
    /// listeners.
    private static let reservedSlots = 64

    var top: FrameReference?
    var isReportingFault = false
    /// Whether an instrument is running on this thread, outside the delivery or call that it wraps.
    var isInInstrument = false
    /// How many slots are in use. They are the first ones.
    var slotsInUse = 0
    /// The frame of the innermost drain that calls listeners on this thread.
    var drain: FrameReference?
    var reading = ReadingTask()
    /// How much searching the thread owes for the listeners with an owner that it has registered; see ``Sweeper``.
    var sweepDebt = 0
    var isSweeping = false
    /// The address of this record's ``Sweeper``, retained, or 0. Successive threads with the record share it.
    var sweeper: UInt = 0
    /// The lowest address of the thread's stack; 0 until it is needed.
    var stackEnd: UInt = 0
    /// Never freed, like the record.
    private let slots: UnsafeMutablePointer<HazardSlot>
    /// How many slots a search has to look at; see ``forgetSlots()``.
    let used = Atomic<Int>(0)
    /// One bit. Threads are divided into 64 groups, and lists remember which groups have posted.
    let group: UInt64
    /// The address of the next record of the group, or 0. Written under the lock of ``ThreadRecords``. An unlinked
    /// record keeps its value.
    let next = Atomic<UInt>(0)
    var previous: ThreadReference?
    /// The next record without a thread, if this one has none.
    var nextSpare: ThreadReference?

    init(group: UInt64) {
        self.group = group
        // A zeroed slot is unused, and most threads use only the first few.
        let size = Self.slotCount * MemoryLayout<HazardSlot>.stride
        unsafe slots = channels_zeroed(size).assumingMemoryBound(to: HazardSlot.self)
    }

    /// Whether the thread is calling a listener, by its own posts and drains.
    var isInsideListener: Bool { top != nil || drain != nil }

    // What a sweep costs, what a registration adds to the debt, and what the end of one takes off. Of listeners that
    // come and go, every 64th pays for a sweep. The cost of a sweep is not a multiple of that of a registration: if it
    // were, the same one of several listeners registered in turn would always pay.
    private static let sweepCost = 128
    private static let addedCost = 30
    private static let removedValue = 28

    /// Whether a sweep is due.
    var mustSweep: Bool { sweepDebt >= Self.sweepCost }

    mutating func countAdded() { sweepDebt += Self.addedCost }

    mutating func countRemoved() { sweepDebt = max(sweepDebt - Self.removedValue, 0) }

    /// Excludes slots that a deep recursion has used, and that are no longer in use, from searches for uses.
    ///
    /// Called by the owning thread, or for a record without a thread. A search that reads the lower number precedes
    /// later uses of those slots, just like a search that reads a number before it rises
    /// (``HazardDomain/announceUse(by:)``).
    func forgetSlots() {
        if used.load(ordering: .relaxed) > slotsInUse + 64 { used.store(slotsInUse, ordering: .sequentiallyConsistent) }
    }

    /// Whether there is room for another nested post or change: on the thread's stack, and among its slots. A stack
    /// that is not the thread's own is not limited.
    var hasRoom: Bool {
        mutating get {
            // Determined at a thread's first nested post, because the system call is slow.
            if stackEnd == 0 { stackEnd = max(UInt(channels_stack_end()), 1) }
            let position = UInt(channels_stack_position())
            return (position <= stackEnd || position - stackEnd > Self.reservedStack)
                && slotsInUse < Self.slotCount - Self.reservedSlots
        }
    }

    func has(_ slot: SlotReference) -> Bool {
        unsafe slot.pointer >= slots && slot.pointer < slots + Self.slotCount
    }

    /// Returns the slot at an index below ``slotCount``.
    func slot(_ index: Int) -> SlotReference { unsafe SlotReference(slots + index) }
}

/// A reference to a slot of a thread's record. `@safe` because slots are never freed.
@safe
struct SlotReference: @unchecked Sendable {  // a constant pointer to what is atomic
    fileprivate let pointer: UnsafeMutablePointer<HazardSlot>

    fileprivate init(_ pointer: UnsafeMutablePointer<HazardSlot>) { unsafe self.pointer = pointer }

    var address: UInt { unsafe UInt(bitPattern: pointer) }

    var pointee: HazardSlot { unsafeAddress { unsafe UnsafePointer(pointer) } }
}
