// Listeners: who listens to a channel, in which order, and how listeners are added, removed and freed.
//
// `ListenerList` is what every kind of channel is built on: a chain of `ListenerEntry`, linked under the list's lock
// (`+Links`), visited without it (`walk`, between `enter` and `leave`), and freed once no post can see them
// (`+Reclaim`). `+Remove` ends listeners, and `Sweeper` finds those whose owner was deallocated. `ListenerToken` is the
// user's handle. Nothing here delivers a message: mailboxes and forwarders are subclasses of `ListenerRoute` in the
// layers above.

internal import Synchronization

/// The listeners of one channel.
///
/// It is a chain of entries in the order of delivery: interceptors first, then listeners, each by priority and then by
/// registration. A post walks it through the atomic `next` of each entry, without a lock; a change takes `lock`. An
/// unlinked entry keeps its `next`, which always points onward in the order of delivery, so a post that is at the entry
/// can continue. Its closure is freed when the posts that could have seen it have ended. The proof is in
/// `Decisions/ListenerList.md`.
///
/// Guards: `lock` guards every `var` except `delegate`, `writtenInstrument` and `sweeperPlace`, which say what guards
/// them, and `localPosts`, which only local lists use. Whatever else is read without the lock is atomic and, except for
/// `observation`, written under it. The list of a `LocalChannel` (`isLocal`) is used by one isolation domain and takes
/// no lock.
@usableFromInline
package final class ListenerList: HazardDomain, @unchecked Sendable {  // guards: see above
    let layout: MessageLayout
    /// The type of the channel, for the text of faults.
    package let channelType: any Any.Type
    package let kind: ChannelKind
    /// Tells listeners the channel's name, for messages without an envelope of their own; nil if the channel has no
    /// name.
    let envelope: Envelope?
    let reentrancy: Reentrancy
    let faults: FaultReporter
    let isLocal: Bool

    // Read by every post.
    /// Whether there is an instrument, and whether the list reports to it; see ``isObserved``.
    let observation = Atomic<UInt8>(0)
    let head = Atomic<UInt>(0)
    let interceptorCount = Atomic<Int>(0)
    let nextNumber: Atomic<UInt64>
    let listenerCount = Atomic<Int>(0)
    /// How many times an entry was given a new number.
    let renumberedCount = Atomic<Int>(0)

    @safe @exclusivity(unchecked) var levels = PriorityIndex()
    /// The level used last, because most listeners of a channel have the same rank. Kept alive by the index.
    @safe @exclusivity(unchecked) var recentLevel: Unretained<PriorityLevel>?
    var emptyLevelCount: Int32 = 0
    var isClosed = false
    var ownedCount = 0
    /// Where the search for orphans continues.
    var cursor: UInt = 0
    /// The sweeper that searches this list, if it has had listeners with an owner.
    @safe @exclusivity(unchecked) var sweeper: Sweeper?
    /// The list's place in the sweeper. Guarded by the sweeper's lock.
    var sweeperPlace = 0
    /// Written once, under the lock; read without it, after ``observation`` was read.
    var writtenInstrument: (any ListInstrument)?
    var localPosts = 0
    var forwarderCount = 0
    /// Set before a token of the list is handed out, and not read earlier.
    @safe @exclusivity(unchecked) var delegate: (any ListenerListDelegate)?

    init(
        layout: MessageLayout,
        of channelType: any Any.Type,
        kind: ChannelKind,
        name: String? = nil,
        reentrancy: Reentrancy = .standard,
        faults: FaultReporter = .standard
    ) {
        self.layout = layout
        self.channelType = channelType
        self.kind = kind
        envelope = name.map { Envelope($0) }
        self.reentrancy = reentrancy
        self.faults = faults
        isLocal = kind == .local
        // The listener of a pattern is old enough for every post: the entries that forward to it are compared instead.
        nextNumber = Atomic(kind == .pattern ? 0 : 1)
        super.init(lendsObjects: false)
    }

    /// Whether the owners may belong to one isolation domain, so that only threads that use the list look for orphans in
    /// it: those of a `LocalChannel`, and those of a protocol, which need not be Sendable.
    var mayBeConfined: Bool { kind == .local || kind == .protocol }

    /// The number of listeners, including those whose owner was deallocated.
    var listenerCountNow: Int { listenerCount.load(ordering: .acquiring) }

    var hasNoListenerNow: Bool { head.load(ordering: .acquiring) == 0 }

    /// Whether there are interceptors, or listeners other than those of patterns. The caller calls ``didUnlock()``
    /// later.
    var hasOwnListeners: Bool {
        withBareLock { listenerCountNow > forwarderCount || interceptorCount.load(ordering: .relaxed) > 0 }
    }

    /// Whether any listener is not paused and so receives messages now. Runs no user code. The caller calls
    /// ``didUnlock()`` later.
    var hasDemand: Bool {
        withBareLock {
            var address = head.load(ordering: .relaxed)
            while let entry = Unretained<ListenerEntry>(address: address) {
                if entry.borrow({ $0.state.receives }) { return true }
                address = entry.borrow { $0.next.load(ordering: .relaxed) }
            }
            return false
        }
    }

    package var hasClosed: Bool { withBareLock { isClosed } }

    var name: String? { envelope?.channelName }

    package var displayName: String { name ?? "\(channelType)" }

    package var messageType: any Any.Type { layout.type }

    var nextNumberNow: UInt64 { nextNumber.load(ordering: .acquiring) }

    func withBareLock<Result>(_ body: () -> Result) -> Result {
        isLocal ? body() : lock.withLock(body)
    }

    /// Runs a body under the lock. May run user code afterwards.
    func withLock<Result>(_ body: () -> Result) -> Result {
        let result = withBareLock(body)
        didUnlock()
        return result
    }

    /// Collects what was left by posts that ended while this thread held the lock, and sweeps if a sweep is due. Called
    /// after every critical section, without any lock, because it may run user code.
    func didUnlock() {
        if ThreadReference.current.pointee.mustSweep { Sweeper.current.sweep(beginningWith: self) }
        collectAfterUnlocking()
    }

    override func free(_ object: Unretained<AnyObject>) {
        // A list retires only entries.
        Unretained<ListenerEntry>(known: object.address).borrow { free($0) }
    }
}
