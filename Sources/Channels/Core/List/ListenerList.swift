internal import Synchronization

/// The listeners of one channel: what every kind of channel is built on.
///
/// Two chains of entries, listeners and interceptors, each in the order of delivery: by priority, then by
/// registration. A post walks a chain through the atomic `next` of each entry, without a lock; a change takes
/// `lock`. An entry that has been taken out keeps its `next`, which always points onward in the order of
/// delivery, so a post that stands on it finds its way; its closure is freed when the posts that could have
/// seen it have ended (`ListenerList+Reclaim`, and the proof in `Decisions/ListenerList.md`).
///
/// Nothing here is generic: a message is an address, and the closures made where the type was known do the
/// rest.
///
/// Guards: `lock` guards the levels, counts, `cursor`, `retired` and `waiters`. The heads, `nextNumber`,
/// `hasRetired` and `mustCollect` are atomic. The list of a `LocalChannel` (`isLocal`) is used by one
/// isolation domain, which stands in for the lock.
@usableFromInline
final class ListenerList: @unchecked Sendable {  // guards: see above
    let layout: MessageLayout
    /// The type of the channel, for the texts of faults.
    let channelType: any Any.Type
    let kind: ChannelKind
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
    /// The groups of the threads that have ever posted here (`ThreadRecord.group`), so that a canceller need
    /// not look at all others.
    let posters = Atomic<UInt64>(0)

    /// Set by a post that ends while another thread holds the lock; see `collectIfAsked`.
    let mustCollect = Atomic<Bool>(false)
    let listenerCount = Atomic<Int>(0)

    @safe @exclusivity(unchecked) var levels = PriorityIndex()
    @safe @exclusivity(unchecked) var interceptorLevels = PriorityIndex()
    /// The level used last: most listeners of a channel have one priority. Its index keeps it.
    @safe @exclusivity(unchecked) var recentLevel: Unretained<PriorityLevel>?
    /// How many levels are in their index although they are empty.
    @safe @exclusivity(unchecked) var emptyLevelCount: Int32 = 0
    @safe @exclusivity(unchecked) var isClosed = false
    /// How many entries have an owner, and so can be orphaned.
    @safe @exclusivity(unchecked) var ownedCount = 0
    /// Where the search for orphans goes on.
    @safe @exclusivity(unchecked) var cursor: UInt = 0
    /// Whether that place is in the chain of interceptors.
    @safe @exclusivity(unchecked) var sweepsInterceptors = true
    @safe @exclusivity(unchecked) var changesSinceSweep: Int32 = 0
    /// How many entries with a living owner the search has met in this round, and had met at the end of the
    /// last.
    @safe @exclusivity(unchecked) var livingSeen: Int32 = 0
    @safe @exclusivity(unchecked) var livingInLastRound: Int32 = 0
    @safe @exclusivity(unchecked) var retired = RetiredEntries()
    /// Posts under way on a local list.
    @safe @exclusivity(unchecked) var localPosts = 0
    /// How many of the listeners forward to a pattern listener.
    @safe @exclusivity(unchecked) var forwarderCount = 0
    /// Set before the list is shared.
    @safe @exclusivity(unchecked) var delegate: (any ListenerListDelegate)?

    init(
        layout: MessageLayout,
        of channelType: any Any.Type,
        kind: ChannelKind,
        name: String? = nil,
        reentrancy: Reentrancy = .standard,
        faults: FaultReporter = .standard,
        counts: Bool = false
    ) {
        self.layout = layout
        self.channelType = channelType
        self.kind = kind
        self.name = name
        self.reentrancy = reentrancy
        self.faults = faults
        isLocal = kind == .local
        counter = counts ? PostCounter() : nil
    }

    /// How many listeners there are, some of which may have lost their owner.
    var listenerCountNow: Int { listenerCount.load(ordering: .acquiring) }

    /// Whether the chain has no listener.
    var hasNoListenerNow: Bool { head.load(ordering: .acquiring) == 0 }

    /// Whether anybody listens on this channel itself, beyond those who listen to a pattern. The caller calls
    /// ``didUnlock()`` later.
    var hasOwnListeners: Bool {
        withBareLock { listenerCountNow > forwarderCount || interceptorHead.load(ordering: .relaxed) != 0 }
    }

    /// The channel's name, or its type where it has none.
    var displayName: String { name ?? "\(channelType)" }

    /// The number the next listener gets.
    var nextNumberNow: UInt64 { nextNumber.load(ordering: .acquiring) }

    /// The address of the list: compared only.
    var address: UInt { Unretained(self).address }

    // MARK: The lock

    @inline(__always)
    func withBareLock<Result>(_ body: () -> Result) -> Result {
        isLocal ? body() : lock.withLock(body)
    }

    /// Runs a body under the lock. Afterwards may run user code.
    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        let result = withBareLock(body)
        didUnlock()
        return result
    }

    /// Does the work of posts that ended while the calling thread held the lock. Whoever has held it calls
    /// this, without any lock: it may run user code.
    @inline(__always)
    func didUnlock() {
        // Set, under the lock, before a post could leave anything to do, so a holder that came later sees it.
        if hasRetired.load(ordering: .relaxed) { collectIfAsked() }
    }
}

/// The posts of a channel, where diagnostics count them.
final class PostCounter: Sendable {
    let posts = Atomic<Int>(0)

    var count: Int { posts.load(ordering: .relaxed) }
}
