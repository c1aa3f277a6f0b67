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
    /// A ``ListenerState``.
    private let word: Atomic<UInt64>
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

    /// - Parameter route: A mailbox or a forwarder if the state says so.
    init(_ state: ListenerState, owner: AnyObject?, route: ListenerRoute?, site: PackedSite, call: BareCall) {
        word = Atomic(state.rawValue)
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
        list?.remove(self, as: .closed)
        didEnd(discards: false)
    }

    package override var isPaused: Bool { state.contains(.paused) }

    package override func pause() {
        _ = ensureRoute()
        insert(.paused)
        didChangePausing()
    }

    package override func resume() {
        // For a state, the delegate clears the bit: see `StateCore.resume`.
        guard isPaused else { return }
        if list?.delegate?.resume(self) != true {
            word.bitwiseAnd(~ListenerState.paused.rawValue, ordering: .sequentiallyConsistent)
        }
        didChangePausing()
    }

    /// What a post asks of the listener.
    @inline(__always)
    final var state: ListenerState { ListenerState(rawValue: word.load(ordering: .acquiring)) }

    /// Sets bits. Returns the state before.
    @discardableResult
    final func insert(_ bits: ListenerState) -> ListenerState {
        ListenerState(rawValue: word.bitwiseOr(bits.rawValue, ordering: .sequentiallyConsistent).oldValue)
    }

    /// Sets the number, and clears bits.
    final func renumber(_ number: UInt64, clearing bits: ListenerState = .none) {
        var known = state
        while true {
            let (exchanged, original) = word.compareExchange(
                expected: known.rawValue,
                desired: known.subtracting(bits).numbered(number).rawValue,
                ordering: .sequentiallyConsistent
            )
            if exchanged { return }
            known = ListenerState(rawValue: original)
        }
    }

    /// Sets the number of an entry that nobody else knows yet.
    final func setFirstNumber(_ number: UInt64) { word.store(state.numbered(number).rawValue, ordering: .relaxed) }

    @inline(__always)
    final var isCancelled: Bool {
        ListenerState(rawValue: word.load(ordering: .sequentiallyConsistent)).contains(.cancelled)
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

    /// The adaptor of a listener with the bit ``ListenerState/adapted``.
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
    var hasEnded: Bool { state.hasEnded }

    var hasOwner: Bool { state.contains(.owned) }

    var isOrphan: Bool { hasOwner && owner == nil }

    /// The registration number, which increases with each registration.
    @inline(__always)
    package var number: UInt64 { state.number }

    var isInterceptor: Bool { state.contains(.intercepting) }

    var isForwarder: Bool { state.contains(.forwarding) }

    var isResponder: Bool { list?.kind == .requests }

    var isGeneral: Bool { state.contains(.general) }

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
    var isAlwaysCounted: Bool { state.isAlwaysCounted }
}
