internal import CChannels
internal import Synchronization

/// One registration in a list. If the listener has an owner, the entry is also its token, and may outlive its place in
/// the list.
///
/// `word`, `next` and `routeAddress` are atomic. The list's lock guards `level`, `previous` and the links; once the
/// entry has left the list, `previous` links entries whose closures are to be freed. `body` is replaced once, after the
/// last post that could read it has ended (`ListenerList+Reclaim`). The rest is constant. An entry must not exceed 88
/// bytes: see `Decisions/ListenerList.md`.
@usableFromInline
package final class ListenerEntry: ListenerToken, @unchecked Sendable {  // guards: see above
    // Bits of `word` above the registration number. A post compares the word with the number at which it
    // began: one comparison tells whether a listener is old enough and needs nothing but its call.
    static let cancelled: UInt64 = 1 << 63
    /// No further message reaches it, but waiting ones are delivered: its channel has ended, or it was `once`.
    static let closed: UInt64 = 1 << 62
    static let paused: UInt64 = 1 << 61
    /// Its calls are always counted, and without atomic additions, because they are made one at a time.
    static let counted: UInt64 = 1 << 60
    static let owned: UInt64 = 1 << 59
    static let once: UInt64 = 1 << 58
    /// The body is a `ListenerCall`. Without this bit it is a bare `Body1` or, with an owner, a `Body2`.
    static let general: UInt64 = 1 << 57
    /// Forwards messages to the listener of another list.
    static let forwarding: UInt64 = 1 << 56
    /// Waits in a lane: its route is a `Mailbox`.
    static let laned: UInt64 = 1 << 55
    static let intercepting: UInt64 = 1 << 54
    /// Receives what its ``Adaptor`` makes of a message.
    static let adapted: UInt64 = 1 << 53
    /// Waits for tasks that read: its route is a `SequenceMailbox`.
    static let read: UInt64 = 1 << 52
    static let ended = cancelled | closed
    /// The registration number: all bits that are not used above.
    static let number: UInt64 = (1 << 52) - 1
    /// The bits that say how a message is delivered to it.
    static let routing = ~(number | owned | general)

    let word: Atomic<UInt64>
    /// The address of the next listener in the order of delivery, or 0. Written under the list's lock.
    let next = Atomic<UInt>(0)
    @safe @exclusivity(unchecked) var previous: UInt = 0
    @safe @exclusivity(unchecked) var body: ListenerBody
    @safe @exclusivity(unchecked) package weak var owner: AnyObject?
    /// The ``ListenerRoute``, retained. Set once, at the latest when the listener is first paused or counted, so
    /// messages before that may be missing from the counts.
    let routeAddress: Atomic<UInt>
    package let site: PackedSite
    /// The level of the entry's priority, retained, which keeps the list alive for the token. Set once, when the entry
    /// is inserted.
    @safe @exclusivity(unchecked) var level: Unretained<PriorityLevel>?

    /// - Parameter route: A mailbox or a forwarder if the bits say so.
    init(bits: UInt64, owner: AnyObject?, route: ListenerRoute?, site: PackedSite, call: BareCall) {
        word = Atomic(bits)
        body = ListenerBody(call)
        // A single assignment, which forms the weak reference. Changing it in a second one would cost 130 instructions.
        self.owner = owner.map { Unretained($0).allowsWeakReference } ?? true ? owner : nil
        routeAddress = Atomic(route.map { Unretained.retaining($0).address } ?? 0)
        self.site = site
    }

    /// Not inlined: if it were inlined where the memory is freed, it would retain and release the entry once more.
    @inline(never)
    deinit {
        level?.release()
        route?.release()
    }

    package override var entry: ListenerEntry { self }

    /// Returns the token. Call once for each registration.
    func makeToken() -> ListenerToken { hasOwner ? self : OwningToken(self) }

    package override func cancel() {
        // The entry keeps the level alive, and the level the list.
        level?.borrow { $0.list.cancel(self) }
    }

    /// Ends the listener. Messages that wait for it are still delivered.
    func end() {
        list?.remove(self, as: Self.closed)
        didEnd(discards: false)
    }

    package override var isPaused: Bool { word.load(ordering: .acquiring) & Self.paused != 0 }

    package override func pause() {
        _ = ensureRoute()
        word.bitwiseOr(Self.paused, ordering: .sequentiallyConsistent)
        didChangePausing()
    }

    package override func resume() {
        // For a state, the delegate clears the bit: see `StateCore.resume`.
        guard isPaused else { return }
        if list?.delegate?.resume(self) != true {
            word.bitwiseAnd(~Self.paused, ordering: .sequentiallyConsistent)
        }
        didChangePausing()
    }

    private func didChangePausing() {
        guard let list else { return }
        list.delegate?.didChangeListening(in: list)
    }
}

extension ListenerEntry {
    /// The route, if there is one. The entry keeps it until its `deinit`.
    @inline(__always)
    var route: Unretained<ListenerRoute>? { Unretained(address: routeAddress.load(ordering: .acquiring)) }

    /// Returns the owner, retained. Balance with ``Unretained/release()``. A single expression, so that it compiles to
    /// one load of the weak reference.
    @inline(__always)
    func retainOwner() -> Unretained<AnyObject>? {
        channels_will_load_weakly()
        return owner.map { Unretained.retaining($0) }
    }

    /// The level of a listener that was inserted.
    @inline(__always)
    var knownLevel: Unretained<PriorityLevel> {
        // Set on insertion and never cleared.
        level!
    }

    /// The adaptor of a listener with the bit ``adapted``.
    @inline(__always)
    var knownAdaptor: Unretained<Adaptor> {
        // Made together with the entry, which keeps its route, which keeps the adaptor.
        Unretained<ListenerRoute>(known: routeAddress.load(ordering: .relaxed))
            .borrow { Unretained(known: $0.adaptorAddress) }
    }

    /// The list that the entry was put into; nil if it was never put into one.
    var list: ListenerList? { level?.object.list }

    var address: UInt { Unretained(self).address }

    /// Whether the listener was ended. An orphan has not ended until it is found.
    var hasEnded: Bool { word.load(ordering: .acquiring) & Self.ended != 0 }

    var isCancelled: Bool { word.load(ordering: .sequentiallyConsistent) & Self.cancelled != 0 }

    var hasOwner: Bool { word.load(ordering: .relaxed) & Self.owned != 0 }

    var isOrphan: Bool { hasOwner && owner == nil }

    /// The registration number, which increases with each registration.
    @inline(__always)
    package var number: UInt64 { word.load(ordering: .acquiring) & Self.number }

    var isInterceptor: Bool { word.load(ordering: .relaxed) & Self.intercepting != 0 }

    var isForwarder: Bool { word.load(ordering: .relaxed) & Self.forwarding != 0 }

    var isResponder: Bool { list?.kind == .requests }

    var isGeneral: Bool { word.load(ordering: .relaxed) & Self.general != 0 }

    /// Calls the listener. The caller keeps the owner alive.
    @inline(__always)
    func run(_ message: MessageAddress, _ owner: OwnerReference?, _ frame: FrameReference) {
        body.call(message, owner, frame, isBare: !isGeneral)
    }

    /// Called when the listener has ended: see ``ListenerRoute/didEnd(discards:)``.
    func didEnd(discards: Bool) { route?.borrow { $0.didEnd(discards: discards) } }

    /// Called once no post can see the entry.
    func didLeaveList() {
        guard let route else { return freeBody() }
        route.borrow { $0.didLeaveList(self) }
    }

    /// Frees the closure's captures. Called when no post or mailbox uses them anymore.
    func freeBody() {
        body = ListenerBody(.nothing)
        route?.borrow { $0.didFreeBody() }
    }
}

extension ListenerEntry {
    /// Returns the route. Makes one if there is none, which then stays.
    @inline(__always)
    func ensureRoute() -> Unretained<ListenerRoute> { route ?? makeRoute() }

    @inline(never)
    private func makeRoute() -> Unretained<ListenerRoute> {
        let made = Unretained.retaining(ListenerRoute())
        let (exchanged, known) = routeAddress.compareExchange(
            expected: 0,
            desired: made.address,
            ordering: .acquiringAndReleasing
        )
        if exchanged { return made }
        made.release()
        // Another thread was first, and the route that it set stays.
        return Unretained(address: known)!
    }

    package var accounts: ListenerAccounts? {
        guard isAlwaysCounted || list?.isObserved == true else { return nil }
        return route?.borrow { $0.accounts }
    }

    /// Resets the counts that are kept only while diagnostics are on.
    package func resetCounts() {
        if !isAlwaysCounted { route?.borrow { $0.directCalls.store(0, ordering: .relaxed) } }
    }

    /// What the ``ListInstrument`` has stored with the listener, if anything.
    package var record: AnyObject? { route?.borrow { $0.record?.object } }

    /// The record, made if there is none.
    package func ensureRecord(_ make: () -> AnyObject) -> AnyObject { ensureRoute().borrow { $0.ensureRecord(make) } }

    /// Whether its messages are counted even without diagnostics.
    var isAlwaysCounted: Bool {
        word.load(ordering: .relaxed) & (Self.laned | Self.read | Self.counted) != 0
    }
}
