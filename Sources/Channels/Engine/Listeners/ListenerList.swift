// Listeners: who listens to a channel, in which order, and how listeners come, leave and are freed.
//
// `ListenerList` is what every kind of channel is built on: a chain of `ListenerEntry`, linked under the list's lock
// (`+Links`), visited without it (`walk`, between `enter` and `leave`), freed once no post can see it (`+Reclaim`).
// `+Remove` ends listeners, `+Sweep` finds those whose owner is gone. `ListenerToken` is the handle a user has.
// Nothing here delivers a message: what waits for a listener, or is forwarded, is behind `ListenerCounters`, whose
// subclasses stand on the floors above.

internal import Synchronization

/// The listeners of one channel: what every kind of channel is built on.
///
/// A chain of entries in the order of delivery: interceptors first, each kind by priority, then by registration. A
/// post walks it through the atomic `next` of each entry, without a lock; a change takes `lock`. An unlinked entry
/// keeps its `next`, which always points onward in the order of delivery, so a post that is at it can continue; its
/// closure is freed when the posts that could have seen it have ended (`ListenerList+Reclaim`, and the proof in
/// `Decisions/ListenerList.md`).
///
/// Nothing here is generic: a message is an address, read by closures made where its type was known.
///
/// Guards: `lock` guards every `var` but `delegate` and `localPosts`; what others read without it is atomic, and
/// written under it, but for `posters`, `mustCollect` and `meterWord`. The list of a `LocalChannel` (`isLocal`) is
/// used by one isolation domain, which replaces the lock.
@usableFromInline
final class ListenerList: @unchecked Sendable {  // guards: see above
    let layout: MessageLayout
    /// The type of the channel, for the text of faults.
    let channelType: any Any.Type
    let kind: ChannelKind
    /// Has the name; nil where there is none.
    let place: PostPlace?
    let reentrancy: Reentrancy
    let faults: FaultReporter
    let isLocal: Bool

    let lock = SpinLock()

    // Read by every post.
    /// The address of what is counted, or 0; see ``isMetered``.
    let meterWord = Atomic<UInt>(0)
    let head = Atomic<UInt>(0)
    let interceptorCount = Atomic<Int>(0)
    let nextNumber = Atomic<UInt64>(1)
    let hasRetired = Atomic<Bool>(false)
    /// The groups of the threads that have posted here (`ThreadRecord.group`), so that a canceller need not
    /// look at the others.
    let posters = Atomic<UInt64>(0)

    /// Set by a post that ends while another thread holds the lock; see `collectIfAsked`.
    let mustCollect = Atomic<Bool>(false)
    let listenerCount = Atomic<Int>(0)
    /// How often an entry has been given a new number. Written under the lock.
    let renumberedCount = Atomic<Int>(0)

    @safe @exclusivity(unchecked) var levels = PriorityIndex()
    /// The level used last: most listeners of a channel have one rank. Kept alive by its index.
    @safe @exclusivity(unchecked) var recentLevel: Unretained<PriorityLevel>?
    /// The number of empty levels in the index.
    @safe @exclusivity(unchecked) var emptyLevelCount: Int32 = 0
    @safe @exclusivity(unchecked) var isClosed = false
    /// The number of entries that have an owner.
    @safe @exclusivity(unchecked) var ownedCount = 0
    /// Where the search for orphans continues.
    @safe @exclusivity(unchecked) var cursor: UInt = 0
    @safe @exclusivity(unchecked) var changesSinceSweep: Int32 = 0
    /// Whether whoever releases the lock next is to sweep. Written under the lock.
    let sweepIsDue = Atomic<Bool>(false)
    /// The number of entries with a living owner met in this round, and in the last.
    @safe @exclusivity(unchecked) var livingSeen: Int32 = 0
    @safe @exclusivity(unchecked) var livingInLastRound: Int32 = 0
    @safe @exclusivity(unchecked) var retired = RetiredEntries()
    /// Posts under way on a local list.
    @safe @exclusivity(unchecked) var localPosts = 0
    /// The number of listeners that forward to a pattern listener.
    @safe @exclusivity(unchecked) var forwarderCount = 0
    /// Set before a token of the list is handed out: nothing reads it before.
    @safe @exclusivity(unchecked) var delegate: (any ListenerListDelegate)?

    @inline(never)
    init(
        layout: MessageLayout,
        of channelType: any Any.Type,
        kind: ChannelKind,
        name: String? = nil,
        reentrancy: Reentrancy = .standard,
        faults: FaultReporter = .standard,
        diagnostics: Diagnostics = .off
    ) {
        self.layout = layout
        self.channelType = channelType
        self.kind = kind
        place = .at(name)
        self.reentrancy = reentrancy
        self.faults = faults
        isLocal = kind == .local
        measure(own: diagnostics)
    }

    deinit { releaseMeter() }

    /// The number of listeners, some of which may have lost their owner.
    var listenerCountNow: Int { listenerCount.load(ordering: .acquiring) }

    /// Whether there is neither a listener nor an interceptor.
    var hasNoListenerNow: Bool { head.load(ordering: .acquiring) == 0 }

    /// Whether this channel has listeners besides those of patterns. The caller calls ``didUnlock()`` later.
    var hasOwnListeners: Bool {
        withBareLock { listenerCountNow > forwarderCount || interceptorCount.load(ordering: .relaxed) > 0 }
    }

    /// Whether the channel was deallocated.
    var hasClosed: Bool { withBareLock { isClosed } }

    var name: String? { place?.channelName }

    /// The channel's name, or its type if it has none.
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

    /// Collects on behalf of posts that ended while the calling thread held the lock, and sweeps if that is due. Called
    /// after every section of the lock, without any lock: it may run user code.
    @inline(__always)
    func didUnlock() {
        if sweepIsDue.load(ordering: .relaxed) { sweepSome() }
        // Set under the lock before a post could leave work, so a later holder sees it.
        if hasRetired.load(ordering: .relaxed) { collectIfAsked() }
    }
}
