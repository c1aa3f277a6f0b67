internal import Dispatch
internal import Synchronization

/// A state channel without its type: the value stored, and the turns in which values are delivered.
///
/// Not generic, because the metadata of generic types nested in a generic class is looked up at every use:
/// `set` took ten times as long.
///
/// Guards: `guarded` guards the value and the turns, which say who delivers (`StateTurns`). `updater` is
/// atomic.
@usableFromInline
final class StateCore: @unchecked Sendable {  // guards: see above
    struct Guarded: ~Copyable, @unchecked Sendable {  // reached under the lock only
        /// The value stored.
        let value: KeptMessage
        var turns: StateTurns
    }

    let list: ListenerList
    let guarded: Locked<Guarded>
    /// The record of the thread inside the body of `update`, or 0.
    let updater = Atomic<UInt>(0)

    /// - Parameter initial: The address of a value of the list's layout, which is copied.
    init(_ list: ListenerList, initial: MessageAddress) {
        self.list = list
        let value = KeptMessage(copying: initial, list.layout)
        guarded = Locked(Guarded(value: value, turns: StateTurns(list.layout)))
        list.delegate = StateDelegate(self)
    }

    /// Copies the value stored to uninitialised memory.
    @usableFromInline
    func read(into target: MessageAddress) {
        trapInsideUpdate("value")
        guarded.withLock { list.layout.copy(from: $0.value.address, to: target) }
    }

    /// Stores a value and delivers it, after those that wait already.
    ///
    /// - Parameters:
    ///   - message: The address of the value. It is only read.
    ///   - envelope: What travels with the value. Listeners registered later get the value without it.
    ///   - site: Where it is set, for those who look at it.
    ///   - store: Replaces the value at the address. Called under the lock, at most once: not if the change
    ///     is refused.
    @usableFromInline
    func set(
        _ message: MessageAddress,
        with envelope: Envelope?,
        at site: PackedSite,
        isolation: (any Actor)?,
        store: (MessageAddress) -> Void
    ) {
        trapInsideUpdate("set")
        guard !refusesChange() else { return }
        guard !list.mayOffer, !list.isMetered else {
            return setWithCare(message, with: envelope, at: site, isolation, store)
        }
        var mustOffer = false
        let admission = guarded.withLock { guarded -> StateTurns.Admission? in
            guard !list.hasNoListenerNow else {
                store(guarded.value.address)
                return nil
            }
            let number = list.nextNumberNow
            mustOffer = list.mayOffer
            guard !mustOffer else { return nil }
            guard hasRoom(&guarded) else { return .refuse }
            store(guarded.value.address)
            return admitChange(&guarded, envelope, before: number)
        }
        if let admission { settle(admission, message, envelope, isolation) }
        // The first listener with a mailbox has just come.
        if mustOffer { offer(message, with: envelope, isolation, store) }
    }

    /// The same where a listener has, or has had, a mailbox, or while diagnostics are on. By itself, to keep
    /// the other short.
    @inline(never)
    private func setWithCare(
        _ message: MessageAddress,
        with envelope: Envelope?,
        at site: PackedSite,
        _ isolation: (any Actor)?,
        _ store: (MessageAddress) -> Void
    ) {
        guard list.isMetered else { return offer(message, with: envelope, isolation, store) }
        list.traceState(envelope, at: site) { offer(message, with: $0, isolation, store) }
    }

    private func offer(
        _ message: MessageAddress,
        with envelope: Envelope?,
        _ isolation: (any Actor)?,
        _ store: (MessageAddress) -> Void
    ) {
        var offered = ListenerList.Offered()
        let admission = guarded.withLock { guarded -> StateTurns.Admission? in
            guard isHeard else {
                store(guarded.value.address)
                return nil
            }
            guard hasRoom(&guarded) else { return .refuse }
            store(guarded.value.address)
            let number = list.nextNumberNow
            offerChange(&guarded, envelope, isolation, before: number, &offered)
            return admitChange(&guarded, envelope, before: number)
        }
        list.finish(offered)
        if let admission { settle(admission, message, envelope, isolation) }
    }

    private func settle(
        _ admission: StateTurns.Admission,
        _ message: MessageAddress,
        _ envelope: Envelope?,
        _ isolation: (any Actor)?
    ) {
        if case .deliver(let turn) = admission {
            deliver(message, turn, isolation, envelope)
        } else {
            settle(admission, isolation)
        }
    }

    /// Changes the value in place and delivers it.
    ///
    /// - Parameter change: Takes the address of the value, under the lock, and returns whether it changed it.
    ///   Not called if the change is refused.
    @usableFromInline
    func update(at site: PackedSite, isolation: (any Actor)?, change: (MessageAddress) -> Bool) {
        trapInsideUpdate("update")
        guard !refusesChange() else { return }
        guard !list.isMetered else {
            return list.traceState(nil, at: site) { self.change(with: $0, isolation, change) }
        }
        self.change(with: nil, isolation, change)
    }

    @inline(__always)
    private func change(with envelope: Envelope?, _ isolation: (any Actor)?, _ change: (MessageAddress) -> Bool) {
        let thread = ThreadReference.current
        takeTurn(isolation, envelope) { guarded, offered in
            guard hasRoom(&guarded) else { return .refuse }
            updater.store(thread.address, ordering: .relaxed)
            let isChanged = change(guarded.value.address)
            updater.store(0, ordering: .relaxed)
            guard isChanged, isHeard else { return nil }
            let number = list.nextNumberNow
            if list.mayOffer { offerChange(&guarded, envelope, isolation, before: number, &offered) }
            return admitChange(&guarded, envelope, before: number)
        }
    }

    /// Whether anybody listens, or counts. Who registers does so under the state's lock and is handed the
    /// value then.
    @inline(__always)
    private var isHeard: Bool { !list.hasNoListenerNow || list.isMetered }

    /// Whether one more value may be set. Under the lock.
    @inline(__always)
    private func hasRoom(_ guarded: inout Guarded) -> Bool {
        // While nobody delivers there is nothing from which it could follow.
        guarded.turns.deliverer == 0 || guarded.turns.hasRoom(for: ThreadReference.current.address)
    }

    /// Registers an entry and hands it the current value, between two changes.
    ///
    /// - Parameter startsWithNext: Without the current value.
    func admit(_ entry: ListenerEntry, _ priority: Priority, isolation: (any Actor)?, startsWithNext: Bool) {
        // No value is set while the state's lock is held: those that wait were set before this listener came,
        // and its number excludes it from them; those set later find it registered. The value it gets now
        // takes its turn between the two. The list's lock is taken inside, never the reverse.
        // Delivers a value as `set` does. If that is refused, the listener hears the next one.
        let isRefused = refusesChange()
        var isTooMany = false
        var outcome = (isIn: false, sweeps: false)
        takeTurn(isolation) { guarded, offered in
            outcome = list.insert(entry, priority: priority.rawValue)
            guard outcome.isIn, !isRefused, !startsWithNext else { return nil }
            isTooMany = !hasRoom(&guarded)
            return isTooMany ? nil : admitEntry(entry, &guarded, isolation, &offered)
        }
        if isTooMany { reportRefusedListener() }
        if outcome.sweeps { list.sweepSome() }
        list.didUnlock()
    }

    /// The channel has gone. Values that wait are delivered first: by a job, or by a thread that resumes a listener;
    /// others have the channel.
    func close() {
        if guarded.withLock({ $0.turns.close() }) { list.close() }
    }

    /// Delivers values to a paused listener again, the current one first.
    func resume(_ entry: ListenerEntry) {
        trapInsideUpdate("resume")
        // Delivers a value as `set` does. If that is refused, the listener stays paused.
        guard !refusesChange() else { return }
        var isTooMany = false
        takeTurn(nil) { guarded, offered in
            guard entry.isPaused, !entry.hasEnded else { return nil }
            isTooMany = !hasRoom(&guarded)
            guard !isTooMany else { return nil }
            // A new number: values that wait are older than the one it gets now, which takes its turn after
            // them: the deliverer may have found the listener before it was paused and not have called it
            // yet.
            list.renumber(entry, clearing: ListenerEntry.paused)
            entry.mailbox?.giveUpReservations()
            return admitEntry(entry, &guarded, nil, &offered)
        }
        if isTooMany { reportRefusedListener() }
        list.didUnlock()
    }
}

/// How a list finds the state it belongs to, which keeps the list: weakly.
private final class StateDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initialiser only
    private weak var core: StateCore?

    init(_ core: StateCore) { self.core = core }

    func resume(_ entry: ListenerEntry) -> Bool {
        core?.resume(entry)
        return true
    }
}

// MARK: - Turns

extension StateCore {
    /// The value just stored is to be delivered. Under the lock.
    ///
    /// - Parameter number: That of the next listener, read before it is known whether there are mailboxes, and
    ///   before the value is offered to them. Patterns come without this lock: one that comes meanwhile hears
    ///   the value neither in a lane nor in its turn, in which it would take the turn of the next.
    @inline(__always)
    private func admitChange(
        _ guarded: inout Guarded,
        _ envelope: Envelope?,
        before number: UInt64
    ) -> StateTurns.Admission {
        let thread = ThreadReference.current
        return guarded.turns.admit(
            guarded.value.address,
            envelope,
            before: number,
            for: nil,
            from: thread.address,
            mayStand: !thread.pointee.isInsideListener
        )
    }

    /// The value just stored is offered to mailboxes. Under the lock.
    private func offerChange(
        _ guarded: inout Guarded,
        _ envelope: Envelope?,
        _ isolation: (any Actor)?,
        before number: UInt64,
        _ offered: inout ListenerList.Offered
    ) {
        list.offer(
            guarded.value.address,
            envelope,
            before: number,
            from: PostFrame.identity(of: isolation),
            guarded.turns.turn(of: ThreadReference.current.address),
            &offered
        )
    }

    /// The value stored is to be delivered to a listener that is new or resumes. Under the lock.
    private func admitEntry(
        _ entry: ListenerEntry,
        _ guarded: inout Guarded,
        _ isolation: (any Actor)?,
        _ offered: inout ListenerList.Offered
    ) -> StateTurns.Admission? {
        if entry.hasItsTurnInLane {
            let isReserved = list.offer(
                guarded.value.address,
                nil,
                to: entry,
                from: PostFrame.identity(of: isolation),
                guarded.turns.turn(of: ThreadReference.current.address),
                &offered
            )
            guard isReserved else { return nil }
        }
        return guarded.turns.admit(
            guarded.value.address,
            nil,
            before: list.nextNumberNow,
            for: entry,
            from: ThreadReference.current.address,
            mayStand: false
        )
    }

    /// Does something under the lock and delivers the value stored, where that is the caller's part.
    private func takeTurn(
        _ isolation: (any Actor)?,
        _ envelope: Envelope? = nil,
        _ body: (inout Guarded, inout ListenerList.Offered) -> StateTurns.Admission?
    ) {
        list.layout.withTemporary { message in
            var offered = ListenerList.Offered()
            let admission = guarded.withLock { guarded -> StateTurns.Admission? in
                let admission = body(&guarded, &offered)
                if case .deliver = admission { list.layout.copy(from: guarded.value.address, to: message) }
                return admission
            }
            list.finish(offered)
            guard let admission else { return }
            if case .deliver(let turn) = admission {
                deliver(message, turn, isolation, envelope)
                list.layout.destroy(message)
            } else {
                settle(admission, isolation)
            }
        }
    }

    /// Does what is left to do for a value that somebody else delivers.
    @inline(never)
    private func settle(_ admission: StateTurns.Admission, _ isolation: (any Actor)?) {
        switch admission {
        case .deliver, .wait: break
        case .refuse: reportFanOut()
        case .waitBehindMany: reportBacklog()
        case .stand(let setter):
            // An async listener is no place to stand in, either; that is looked up only here, because it
            // costs.
            if ListenerChain.call == nil { setter.stand() }
            let outcome = guarded.withLock { $0.turns.leave(setter) }
            if outcome.delivers {
                deliverWaiting(isolation)
            } else if outcome.isOverfull {
                reportBacklog()
            }
        }
    }

    /// Delivers a turn, and then what waits, in order, until nothing does or somebody else takes over.
    private func deliver(
        _ message: MessageAddress,
        _ turn: StateTurns.Turn,
        _ isolation: (any Actor)?,
        _ envelope: Envelope? = nil
    ) {
        list.post(message, isolation: isolation, before: turn.before, onlyTo: turn.entry, envelope: envelope)
        if guarded.withLock({ !$0.turns.endsIfNothingWaits() }) { deliverWaiting(isolation) }
    }

    /// Goes on delivering, in a job of its own.
    private func goOn() {
        guarded.withLock { $0.turns.takeOver(by: ThreadReference.current.address) }
        deliverWaiting(nil)
    }

    @inline(never)
    private func deliverWaiting(_ isolation: (any Actor)?) {
        let thread = ThreadReference.current.address
        list.layout.withTemporary { message in
            while true {
                let (next, relieved) = guarded.withLock { guarded in
                    (guarded.turns.next(for: thread, into: message), guarded.turns.nextToGoOn())
                }
                relieved?.goOn()
                switch next {
                case .deliver(let turn, let envelope):
                    list.post(
                        message,
                        isolation: isolation,
                        before: turn.before,
                        onlyTo: turn.entry,
                        envelope: envelope
                    )
                    // Each value is released at the end of its turn, without the lock.
                    list.layout.destroy(message)
                case .handOver(let setter):
                    setter.goOn()
                    return
                case .handOverToJob:
                    DispatchQueue.global().async { self.goOn() }
                    return
                case .end(let setters, let closesList):
                    for setter in setters { setter.goOn() }
                    if closesList { list.close() }
                    return
                }
            }
        }
    }
}
