// Hazards: which thread uses what, so that nothing is freed that another thread may still read.
//
// Each thread has a record with a stack of slots. Before a thread reads a list, or a shard of names, it announces
// the address in a slot; afterwards it withdraws it (`ThreadReference.announce`, `withdraw`). Whoever makes
// something unreachable then looks for uses of that address (`HazardUse`), keeps what it removed until those uses
// have ended, and looks again after 1 ms, 2, 4 and so on (`CollectionBackoff`). No use waits, and none takes a
// lock. The proof stands in `Decisions/ListenerList.md`. Users: `ListenerList+Reclaim` for lists,
// `RegistryShard+Read` for names.

internal import CChannels
internal import Synchronization

/// A use of something that is shared, by one thread, as seen by other threads; see ``HazardUse``.
///
/// `sequence` is bumped before `address` is set, so a pair of both names one use: it has ended once either has
/// changed.
struct HazardSlot: ~Copyable {
    /// The address of what is used, or 0. Written by the owning thread only.
    let address = Atomic<UInt>(0)
    /// The number of uses of this slot. Written by the owning thread only.
    let sequence = Atomic<UInt>(0)
}

/// What the library knows about a thread: the posts it has under way.
///
/// A record belongs to one thread at a time; see ``ThreadRecords``, whose lock guards `nextSpare`. The slots are
/// atomic. What else may change belongs to the owning thread.
@safe
struct ThreadRecord: ~Copyable {
    /// The most posts nested on one thread, over all channels.
    static let deepest = 1_024
    /// How many posts and changes of states may follow from an outermost post, of those that count.
    static let mostFollowing = 1 << 18
    /// What the listeners of the outermost post post themselves does not count, however much it is.
    private static let longestFreeChain = 2
    /// How many bytes of the stack are kept for what a listener does beside posting.
    static let reservedStack: UInt = 64 << 10
    /// Room for the uses of ``deepest`` posts: of a shard of names, the list, the hub of a pattern, and one of the
    /// library's own.
    static let slotCount = deepest * 4

    /// The innermost post under way on this thread.
    var top: FrameReference?
    /// Whether a fault handler runs on this thread.
    var isReportingFault = false
    /// Whether an instrument runs on this thread, outside of what it was called around.
    var isInInstrument = false
    /// The number of uses under way on this thread.
    var depth = 0
    /// How many mailboxes are being emptied on this thread.
    var drains = 0
    /// How many posts and changes of states have followed from the outermost post on this thread, see
    /// ``countFollowing(chain:)``.
    var followed = 0
    /// The task that reads sequences on this thread.
    var reading = ReadingTask()
    /// The address of the extras for the next post that needs them, retained, or 0.
    var spareExtras: UInt = 0
    /// The lowest address of the thread's stack; 0 as long as nobody has asked.
    var stackEnd: UInt = 0
    /// Never freed, as the record.
    private let slots: UnsafeMutablePointer<HazardSlot>
    /// How many slots may be in use; see ``forgetSlots()``.
    let used = Atomic<Int>(0)
    /// One bit: threads are divided into 64 groups, and lists remember which have posted.
    let group: UInt64
    /// The address of the record of the group made before this one, or 0.
    let next: UInt
    /// The next record of nobody, if this is one.
    var nextSpare: ThreadReference?

    init(group: UInt64, next: UInt) {
        self.group = group
        self.next = next
        // A slot whose words are 0 is one that is not used. Few threads use more than the first of them.
        let size = Self.slotCount * MemoryLayout<HazardSlot>.stride
        unsafe slots = channels_zeroed(size).assumingMemoryBound(to: HazardSlot.self)
    }

    /// Whether a listener is being called on this thread, as far as the thread knows.
    var isInsideListener: Bool { top != nil || drains > 0 }

    /// Counts a post, a queued post or a change of a state that is made because of others.
    ///
    /// A chain of posts is bounded by its length. Two listeners that each post again stay below every length and would
    /// never end. So what follows from one outermost post is bounded in number, too.
    ///
    /// - Parameter chain: How many posts and changes led to it, itself included.
    /// - Returns: 0 or, if there have been too many, how many of them were.
    mutating func countFollowing(chain: Int) -> Int {
        guard chain > Self.longestFreeChain else { return 0 }
        followed += 1
        return max(0, followed - Self.mostFollowing)
    }

    /// Lets whoever looks for uses pass over the slots that a deep recursion has left: none of them is in use.
    ///
    /// Called by the owning thread, or for a record of nobody. Who reads the lower number precedes a later use of those
    /// slots, as with a number that has yet to rise (`ThreadReference.announce`).
    func forgetSlots() {
        if used.load(ordering: .relaxed) > depth + 64 { used.store(depth, ordering: .sequentiallyConsistent) }
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

    /// Whether a slot is one of these.
    func has(_ slot: SlotReference) -> Bool {
        unsafe slot.pointer >= slots && slot.pointer < slots + Self.slotCount
    }

    /// The slot of the use at a depth below ``slotCount``.
    @inline(__always)
    func slot(_ depth: Int) -> SlotReference { unsafe SlotReference(slots + depth) }
}

/// A slot of a thread's record.
///
/// `@safe` because slots are never freed.
@safe
struct SlotReference: @unchecked Sendable {  // a constant pointer to what is atomic
    fileprivate let pointer: UnsafeMutablePointer<HazardSlot>

    @inline(__always)
    fileprivate init(_ pointer: UnsafeMutablePointer<HazardSlot>) { unsafe self.pointer = pointer }

    /// The address as a number, for comparing.
    var address: UInt { unsafe UInt(bitPattern: pointer) }

    var pointee: HazardSlot { @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) } }
}
