internal import Synchronization

extension ListenerList {
    /// Makes the entry of a listener. `isCounted` says whether its calls are counted even without diagnostics.
    @inline(__always)
    func makeEntry(_ listener: __shared Registration, isCounted: Bool = false) -> ListenerEntry {
        let (owner, isolation, details) = (listener.owner, listener.isolation, listener.details)
        var state: ListenerState = owner == nil ? .none : .owned
        var route: ListenerRoute?
        // Other listeners have neither a mailbox nor counts.
        if details != nil || isolation != nil || isCounted {
            route = makeRoute(owner, isolation, details, isCounted, &state)
        }
        return ListenerEntry(state, owner: owner, route: route, site: listener.site, call: listener.call)
    }

    /// Makes the route of a listener that needs one, and sets its state.
    @inline(never)
    private func makeRoute(
        _ owner: AnyObject?,
        _ isolation: (any Actor)?,
        _ details: Registration.Details?,
        _ isCounted: Bool,
        _ state: inout ListenerState
    ) -> ListenerRoute? {
        if let details {
            if details.isOnce { state.insert(.once) }
            if !details.isBare { state.insert(.general) }
            if details.adaptor != nil { state.insert(.adapted) }
        }
        let adaptor = details?.adaptor
        let asked = details?.buffering ?? .automatic
        let buffering = asked.isAutomatic ? .unbounded : asked
        let lane: Lane
        switch details?.delivery ?? .isolated(isolation) {
        case .isolated(let actor?): lane = Lane.of(actor)
        case .owner:
            guard let owner = owner as? any Actor else {
                fatalError("defect of swift-channels: a listener must run on its owner, which is not an actor")
            }
            lane = Lane.of(owner)
        case .queue(let queue): lane = Lane.of(queue)
        case .async(let call, let isolation, let overlapping):
            state.insert(.waitsForReader)
            let calls = AsyncCalls(call, on: isolation, overlapping)
            return SequenceMailbox(adaptor?.layout ?? layout, buffering, calls, adaptor: adaptor)
        case .sequence(let number):
            state.insert(.waitsForReader)
            return SequenceMailbox(adaptor?.layout ?? layout, buffering, number: number, adaptor: adaptor)
        case .responder(let calls): return calls
        case .forwarder(let forwarder):
            state.insert(.forwarding)
            if isCounted { state.insert(.counted) }
            return forwarder
        case .interceptor:
            state.insert(.intercepting)
            return nil
        case .isolated(nil):
            if isCounted { state.insert(.counted) }
            return isCounted || adaptor != nil ? ListenerRoute(adaptor: adaptor) : nil
        }
        state.insert(.waitsInLane)
        return Mailbox(lane, adaptor?.layout ?? layout, buffering, adaptor: adaptor)
    }

    /// Registers a listener for as long as its owner or the token lives.
    @usableFromInline
    func register(_ listener: __shared Registration) -> ListenerToken { add(listener).makeToken() }

    @inline(__always)
    func add(_ listener: __shared Registration) -> ListenerEntry {
        let entry = makeEntry(listener)
        add(entry, priority: listener.priority.rawValue)
        return entry
    }

    /// Inserts an entry after those of its priority, so that posts reach it. If the owner is being deinitialized, the
    /// entry is an orphan from the start, because a weak reference to the owner is nil.
    ///
    /// - Complexity: O(1) for the priority used last, O(log *p*) for one of *p* in use, O(*p*) for a new one.
    private func add(_ entry: ListenerEntry, priority: Int) {
        let isIn = insert(entry, priority: priority)
        didUnlock()
        if !isIn { endRejected(entry) }
        if let delegate { delegate.didChangeListening(in: self) }
    }

    /// Ends a listener that was registered after the list had been closed, as if it had ended with the list. Releases
    /// its closure, so call this without a lock.
    @inline(never)
    func endRejected(_ entry: ListenerEntry) {
        entry.didEnd(discards: false)
        entry.didLeaveList()
    }

    /// Inserts an entry after those of its priority. Runs no user code: the caller may hold a lock, and calls
    /// ``didUnlock()`` later. Returns false, and makes the entry inactive, if the list was closed: the caller ends it
    /// by ``endRejected(_:)``.
    @discardableResult
    func insert(_ entry: ListenerEntry, priority: Int) -> Bool {
        let rank = DeliveryRank(isInterceptor: entry.isInterceptor, priority: priority)
        let isOwned = entry.hasOwner
        var joinsSweeper = false
        let isIn = withBareLock { () -> Bool in
            guard !isClosed else { return false }
            if entry.isForwarder { forwarderCount += 1 }
            link(entry, into: level(of: rank))
            if isOwned {
                ownedCount += 1
                joinsSweeper = sweeper == nil && !mayBeConfined
            }
            return true
        }
        if isOwned { ThreadReference.current.pointee.countAdded() }
        if joinsSweeper { Sweeper.current.add(self) }
        if !isIn { entry.insert(.closed) }
        return isIn
    }

    /// Gives an entry a new number, as if it had just been registered, but in its old place. The caller calls
    /// ``didUnlock()`` once it holds no lock.
    func renumber(_ entry: ListenerEntry, clearing bits: ListenerState) {
        withBareLock {
            let number = nextNumber.load(ordering: .relaxed)
            // Incremented before the number is stored, so that a thread that reads the new number also reads this.
            renumberedCount.wrappingAdd(1, ordering: .relaxed)
            entry.renumber(number, clearing: bits)
            nextNumber.store(number + 1, ordering: .releasing)
        }
    }
}
