internal import Synchronization

/// The listeners of one channel: what every kind of channel is built on.
///
/// Two chains of entries, listeners and interceptors, each in the order of delivery: by priority, then by registration. A post walks a
/// chain through the atomic `next` of each entry, without a lock; a change takes `lock`. An entry that has been taken out keeps its
/// `next`, which always points onward in the order of delivery, so a post that stands on it finds its way; its closure is freed when the
/// posts that could have seen it have ended (`ListenerList+Reclaim`, and the proof in `Decisions/ListenerList.md`).
///
/// Nothing here is generic: a message is an address, and the closures made where the type was known do the rest.
///
/// Guards: `lock` guards the lanes, counts, `cursor`, `retired` and `waiters`. The heads, `nextNumber`, `hasRetired` and `mustCollect` are
/// atomic. The list of a `LocalChannel` (`isLocal`) is used by one isolation domain, which stands in for the lock.
@usableFromInline
final class ListenerList: @unchecked Sendable {  // guards: see above
    let layout: MessageLayout
    let name: String?
    let reentrancy: Reentrancy
    let faults: FaultReporter
    let isLocal: Bool
    /// Posts made; only where diagnostics count them.
    let counter: PostCounter?

    let lock = SpinLock()

    // Read by every post.
    let head = Atomic<UInt>(0)
    let interceptorHead = Atomic<UInt>(0)
    let nextNumber = Atomic<UInt64>(1)
    let hasRetired = Atomic<Bool>(false)
    /// The groups of the threads that have ever posted here (`ThreadRecord.group`), so that a canceller need not look at all others.
    let posters = Atomic<UInt64>(0)

    /// Set by a post that ends while another thread holds the lock; see `collectIfAsked`.
    let mustCollect = Atomic<Bool>(false)
    let listenerCount = Atomic<Int>(0)

    @exclusivity(unchecked) var lanes = PriorityIndex()
    @exclusivity(unchecked) var interceptorLanes = PriorityIndex()
    /// The lane used last: most listeners of a channel have one priority.
    @exclusivity(unchecked) var recentLane: Unmanaged<Lane>?
    /// How many lanes are in their index although nobody is in them.
    @exclusivity(unchecked) var emptyLaneCount: Int32 = 0
    @exclusivity(unchecked) var isClosed = false
    /// How many entries have an owner, and so can be orphaned.
    @exclusivity(unchecked) var ownedCount = 0
    /// Where the search for orphans goes on.
    @exclusivity(unchecked) var cursor: UInt = 0
    /// Whether that place is in the chain of interceptors.
    @exclusivity(unchecked) var sweepsInterceptors = true
    @exclusivity(unchecked) var changesSinceSweep: Int32 = 0
    /// How many entries with a living owner the search has met in this round, and had met in the last when it had gone round.
    @exclusivity(unchecked) var livingSeen: Int32 = 0
    @exclusivity(unchecked) var livingInLastRound: Int32 = 0
    @exclusivity(unchecked) var retired = RetiredEntries()
    /// Posts under way on a local list.
    @exclusivity(unchecked) var localPosts = 0
    /// How many of the listeners forward to a pattern listener.
    @exclusivity(unchecked) var forwarderCount = 0
    /// Called, without the lock, after the first listener of the channel's own has come or the last has gone. Set before the list is shared.
    @exclusivity(unchecked) var onListeningChange: (@Sendable () -> Void)?
    /// Called, without the lock, after the channel has gone. Set before the list is shared.
    @exclusivity(unchecked) var onClose: (@Sendable (ListenerList) -> Void)?
    /// Called in place of letting messages through again. Set before the list is shared.
    @exclusivity(unchecked) var onResume: (@Sendable (ListenerEntry) -> Void)?

    init(
        layout: MessageLayout,
        name: String? = nil,
        reentrancy: Reentrancy = .standard,
        faults: FaultReporter = .standard,
        isLocal: Bool = false,
        counts: Bool = false
    ) {
        self.layout = layout
        self.name = name
        self.reentrancy = reentrancy
        self.faults = faults
        self.isLocal = isLocal
        counter = counts ? PostCounter() : nil
    }

    /// How many listeners there are, some of which may have lost their owner.
    var listenerCountNow: Int { listenerCount.load(ordering: .acquiring) }

    /// Whether no listener is in the chain.
    var hasNoListenerNow: Bool { head.load(ordering: .acquiring) == 0 }

    /// Whether anybody listens on this channel itself, beyond those who listen to a pattern. The caller calls ``lockWasGivenUp()`` later.
    var hasOwnListeners: Bool { withBareLock { listenerCountNow > forwarderCount || interceptorHead.load(ordering: .relaxed) != 0 } }

    /// The number the next listener gets.
    var nextNumberNow: UInt64 { nextNumber.load(ordering: .acquiring) }

    /// The address of the list: compared only.
    var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
}

/// The posts of a channel, where diagnostics count them.
final class PostCounter: Sendable {
    let posts = Atomic<Int>(0)

    var count: Int { posts.load(ordering: .relaxed) }
}
