// Hazards: which thread uses what, so that nothing is freed that another thread may still read.
//
// Each thread has a record with a stack of slots. Before a thread reads a list, or a shard of names, it
// announces the address in a slot; afterwards it withdraws it (`HazardDomain`). A
// thread that makes something unreachable looks for uses of that address (`HazardUse`) and keeps what it
// removed until they have ended (`HazardDomain`, which lists and shards of names are). No use waits or takes a
// lock. The proof is in `Decisions/ListenerList.md`.

internal import CChannels
internal import Synchronization

/// One thread's use of something shared, as other threads see it; written only by that thread. `sequence` is
/// bumped before `address` is set, so a use has ended once either has changed.
struct HazardSlot: ~Copyable {
    /// The address of what is used, or 0.
    let address = Atomic<UInt>(0)
    let sequence = Atomic<UInt>(0)
}

/// What the library knows about a thread. A record belongs to one thread at a time. ``ThreadRecords`` guards `previous`
/// and `nextSpare`; `next`, `used` and the slots are atomic; the owning thread alone uses the other variables.
@safe
struct ThreadRecord: ~Copyable {
    /// Stack, in bytes, kept free for what a listener does besides posting.
    private static let reservedStack: UInt = 64 << 10
    /// Each post uses one for its list, one more if it is by name, and one where a pattern receives it.
    static let slotCount = 8_192
    /// Kept free for what a listener does besides posting: it may look up names, and walk listeners.
    private static let reservedSlots = 64

    var top: FrameReference?
    var isReportingFault = false
    /// Whether an instrument runs on this thread, outside what it was called around.
    var isInInstrument = false
    /// How many slots are in use: those of its first uses.
    var slotsInUse = 0
    /// The frame of the innermost drain that calls listeners on this thread.
    var drain: FrameReference?
    var reading = ReadingTask()
    /// How much the thread owes for listeners with an owner that it has registered; see ``Sweeper``.
    var sweepDebt = 0
    var isSweeping = false
    /// The address of the ``Sweeper`` of the threads that have this record, retained, or 0.
    var sweeper: UInt = 0
    /// The lowest address of the thread's stack; 0 until it is needed.
    var stackEnd: UInt = 0
    /// Never freed, like the record.
    private let slots: UnsafeMutablePointer<HazardSlot>
    /// How many slots may be in use; see ``forgetSlots()``.
    let used = Atomic<Int>(0)
    /// One bit: threads are divided into 64 groups, and lists remember which have posted.
    let group: UInt64
    /// The address of the next record of the group, or 0. Written under the lock of ``ThreadRecords``. A record that
    /// was unlinked keeps it.
    let next = Atomic<UInt>(0)
    var previous: ThreadReference?
    /// The next record without a thread, if this is one.
    var nextSpare: ThreadReference?

    init(group: UInt64) {
        self.group = group
        // A zeroed slot is unused, and most threads use only the first few.
        let size = Self.slotCount * MemoryLayout<HazardSlot>.stride
        unsafe slots = channels_zeroed(size).assumingMemoryBound(to: HazardSlot.self)
    }

    /// Whether, as far as the thread knows, it is calling a listener.
    var isInsideListener: Bool { top != nil || drain != nil }

    // What a registration costs, and what is given back for one that ends: of those that come and go, every 64th pays.
    // Not a divisor of what a sweep costs, so that of listeners registered in turn not always the same one pays.
    private static let sweepCost = 128
    private static let addedCost = 30
    private static let removedValue = 28

    /// Whether a sweep is due.
    var mustSweep: Bool { sweepDebt >= Self.sweepCost }

    mutating func countAdded() { sweepDebt += Self.addedCost }

    mutating func countRemoved() { sweepDebt = max(sweepDebt - Self.removedValue, 0) }

    /// Excludes the slots left by a deep recursion, none of which is in use, from searches for uses.
    ///
    /// Called by the owning thread, or for a record without one. A search that reads the lower number
    /// precedes later uses of those slots, as with one that has yet to rise (``HazardDomain/announceUse(by:)``).
    func forgetSlots() {
        if used.load(ordering: .relaxed) > slotsInUse + 64 { used.store(slotsInUse, ordering: .sequentiallyConsistent) }
    }

    /// Whether there is room for another post or change inside those under way: on the thread's stack, and among its
    /// slots. A stack that is not the thread's own has no limit.
    var hasRoom: Bool {
        mutating get {
            // Read at a thread's first nested post, because the system call is slow.
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

/// A slot of a thread's record. `@safe` because slots are never freed.
@safe
struct SlotReference: @unchecked Sendable {  // a constant pointer to what is atomic
    fileprivate let pointer: UnsafeMutablePointer<HazardSlot>

    fileprivate init(_ pointer: UnsafeMutablePointer<HazardSlot>) { unsafe self.pointer = pointer }

    var address: UInt { unsafe UInt(bitPattern: pointer) }

    var pointee: HazardSlot { unsafeAddress { unsafe UnsafePointer(pointer) } }
}
