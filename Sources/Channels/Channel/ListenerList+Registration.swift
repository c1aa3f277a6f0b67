internal import Synchronization

extension ListenerList {
    /// Puts an entry in, behind those of its priority. Afterwards posts reach it.
    ///
    /// - Returns: False where the channel has gone, or the owner is being deinitialised: the entry is then inactive.
    /// - Complexity: O(1) for the priorities in use, O(log *p*) to start a new one of *p*.
    @discardableResult
    func add(_ entry: ListenerEntry, priority: Int, asInterceptor: Bool = false) -> Bool {
        let outcome = insert(entry, priority: priority, asInterceptor: asInterceptor)
        if outcome.sweeps { sweepSome() }
        if hasRetired.load(ordering: .relaxed) { collectIfAsked() }
        if let onListeningChange { onListeningChange() }
        return outcome.isIn
    }

    /// The same without what may run user code: the caller, who holds a lock of his own, looks after `sweeps` later.
    func insert(_ entry: ListenerEntry, priority: Int, asInterceptor: Bool = false) -> (isIn: Bool, sweeps: Bool) {
        let isOwned = entry.word.load(ordering: .relaxed) & ListenerEntry.owned != 0
        // A weak reference to an object that is being deinitialised is nil from the start.
        guard !isOwned || entry.owner != nil else {
            entry.word.bitwiseOr(ListenerEntry.cancelled, ordering: .sequentiallyConsistent)
            return (false, false)
        }
        let outcome = withBareLock { () -> (Bool, Bool) in
            guard !isClosed else { return (false, false) }
            link(entry, into: lane(of: priority, forInterceptors: asInterceptor))
            if isOwned { ownedCount += 1 }
            if entry.isForwarder { forwarderCount += 1 }
            return (true, changeCallsForSweep())
        }
        if !outcome.0 { entry.word.bitwiseOr(ListenerEntry.closed, ordering: .sequentiallyConsistent) }
        return outcome
    }

    /// Gives an entry a new number, as if it had just been registered, in its old place. Under no lock of this list.
    func renumber(_ entry: ListenerEntry, clearing bits: UInt) {
        withBareLock {
            let number = nextNumber.load(ordering: .relaxed)
            var word = entry.word.load(ordering: .relaxed)
            while true {
                let (exchanged, original) = entry.word.compareExchange(
                    expected: word,
                    desired: word & ~(ListenerEntry.number | bits) | number,
                    ordering: .sequentiallyConsistent
                )
                if exchanged { break }
                word = original
            }
            nextNumber.store(number + 1, ordering: .releasing)
        }
    }

    /// Cancels an entry and takes it out. Any thread, any number of times.
    ///
    /// - Returns: Whether this call was the one that ended it.
    @discardableResult
    func remove(_ entry: ListenerEntry, as reason: UInt = ListenerEntry.cancelled) -> Bool {
        // Whoever sets the first of the two bits owns the entry's removal, so it is taken out, and freed, once.
        let (before, _) = entry.word.bitwiseOr(reason, ordering: .sequentiallyConsistent)
        guard before & ListenerEntry.ended == 0 else { return false }
        takeOut(entry, wasOwned: before & ListenerEntry.owned != 0)
        return true
    }

    private func takeOut(_ entry: ListenerEntry, wasOwned: Bool) {
        var freed = RetiredEntries.Chain()
        let (needsBarrier, sweeps) = withLock { () -> (Bool, Bool) in
            unlink(entry)
            if wasOwned { ownedCount -= 1 }
            if entry.isForwarder { forwarderCount -= 1 }
            return (retire(entry, freed: &freed), changeCallsForSweep())
        }
        freed.free()
        if needsBarrier { barrierThenCollect() }
        if sweeps { sweepSome() }
        if let onListeningChange { onListeningChange() }
    }

    /// Ends every listener: the channel has gone. What waits in mailboxes is still delivered.
    func close() {
        var freed = RetiredEntries.Chain()
        var closing: [ListenerEntry] = []
        let needsBarrier = withLock {
            isClosed = true
            var needsBarrier = false
            for chain in [head.load(ordering: .relaxed), interceptorHead.load(ordering: .relaxed)] {
                var address = chain
                while let entry = Unmanaged<ListenerEntry>.at(address)?.takeUnretainedValue() {
                    address = entry.next.load(ordering: .relaxed)
                    let (before, _) = entry.word.bitwiseOr(ListenerEntry.closed, ordering: .sequentiallyConsistent)
                    // One that is ended already is being taken out by whoever ended it.
                    guard before & ListenerEntry.ended == 0 else { continue }
                    closing.append(entry)
                    unlink(entry)
                    needsBarrier = retire(entry, freed: &freed) || needsBarrier
                }
            }
            emptyLane.map(discard)
            emptyLane = nil
            return needsBarrier
        }
        for entry in closing { entry.mailbox?.channelHasGone() }
        freed.free()
        if needsBarrier { barrierThenCollect() }
        onClose?(self)
    }

    /// Ends every listener and interceptor of an owner.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    func removeListeners(of owner: AnyObject) {
        forEachEntry { entry in
            if entry.owner === owner { entry.cancel() }
        }
    }

    /// How many listeners there are whose owner lives.
    var activeListenerCount: Int {
        if withLock({ ownedCount > 0 }) {
            forEachEntry { entry in
                if entry.isOrphan { remove(entry) }
            }
        }
        return listenerCount.load(ordering: .acquiring)
    }

    /// Visits every listener and interceptor, without the lock. The body may do what a listener may do.
    func forEachEntry(includingInterceptors: Bool = true, _ body: (ListenerEntry) -> Void) {
        let thread = ThreadRecord.current
        precondition(thread.pointee.depth < ThreadRecord.slotCount, "too many nested uses of channels on one thread")
        enter(thread)
        defer { leave(thread) }
        var chains = [head.load(ordering: .sequentiallyConsistent)]
        if includingInterceptors { chains.append(interceptorHead.load(ordering: .sequentiallyConsistent)) }
        for chain in chains {
            var address = chain
            while let entry = Unmanaged<ListenerEntry>.at(address)?.takeUnretainedValue() {
                body(entry)
                address = entry.next.load(ordering: .sequentiallyConsistent)
            }
        }
    }

    // MARK: Under the lock

    @inline(__always)
    func withBareLock<Result>(_ body: () -> Result) -> Result {
        isLocal ? body() : lock.withLock(body)
    }

    /// Runs a body under the lock. Afterwards may run user code.
    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        let result = withBareLock(body)
        // A post that ended meanwhile may have left its work to the holder of the lock.
        if hasRetired.load(ordering: .relaxed) { collectIfAsked() }
        return result
    }

    private func lane(of priority: Int, forInterceptors: Bool) -> Lane {
        if let recentLane, recentLane.priority == priority, recentLane.isForInterceptors == forInterceptors { return recentLane }
        let found = forInterceptors ? interceptorLanes.lane(of: priority) : lanes.lane(of: priority)
        let lane = found ?? Lane(priority: priority, list: self, isForInterceptors: forInterceptors)
        recentLane = lane
        return lane
    }

    private func link(_ entry: ListenerEntry, into lane: Lane) {
        entry.lane = lane
        let number = nextNumber.load(ordering: .relaxed)
        // The bits above the number are only added to later, by whoever has the token, which nobody has yet.
        entry.word.store(entry.word.load(ordering: .relaxed) | number, ordering: .relaxed)
        let before: ListenerEntry?
        if let tail = lane.tail {
            before = tail
        } else {
            before = tail(above: lane)
            if let emptyLane, emptyLane === lane {
                self.emptyLane = nil
            } else if lane.isForInterceptors {
                interceptorLanes.insert(lane)
            } else {
                lanes.insert(lane)
            }
        }
        let after = link(after: before, in: lane)
        entry.previous = before
        entry.next.store(after, ordering: .relaxed)
        Unmanaged<ListenerEntry>.at(after)?._withUnsafeGuaranteedRef { $0.previous = entry }
        // The list's reference; given back in `RetiredEntries.Chain.free`.
        let address = UInt(bitPattern: Unmanaged.passRetained(entry).toOpaque())
        if let before {
            before.next.store(address, ordering: .releasing)
        } else if lane.isForInterceptors {
            interceptorHead.store(address, ordering: .releasing)
        } else {
            head.store(address, ordering: .releasing)
        }
        lane.tail = entry
        // After the link: a post that reads the higher number finds the entry.
        nextNumber.store(number + 1, ordering: .releasing)
        if !lane.isForInterceptors { listenerCount.store(listenerCount.load(ordering: .relaxed) + 1, ordering: .releasing) }
    }

    /// The address of the entry that follows another, or heads the lane's chain.
    private func link(after before: ListenerEntry?, in lane: Lane) -> UInt {
        if let before { return before.next.load(ordering: .relaxed) }
        return (lane.isForInterceptors ? interceptorHead.load(ordering: .relaxed) : head.load(ordering: .relaxed))
    }

    /// The last entry of the next higher priority.
    private func tail(above lane: Lane) -> ListenerEntry? {
        func next(above priority: Int) -> Lane? {
            lane.isForInterceptors ? interceptorLanes.lane(above: priority) : lanes.lane(above: priority)
        }
        guard let above = next(above: lane.priority) else { return nil }
        // One lane at most is empty.
        return above.tail ?? next(above: above.priority)?.tail
    }

    /// Keeps a lane that has become empty for the next listener of its priority, in place of the one kept so far: one that comes and goes on
    /// a channel of its own allocates nothing but itself.
    private func keepEmpty(_ lane: Lane) {
        // The lane holds the list, which nobody closes a second time.
        guard !isClosed else { return discard(lane) }
        if let emptyLane { discard(emptyLane) }
        emptyLane = lane
    }

    private func discard(_ lane: Lane) {
        if recentLane === lane { recentLane = nil }
        if lane.isForInterceptors { interceptorLanes.remove(lane) } else { lanes.remove(lane) }
    }

    private func unlink(_ entry: ListenerEntry) {
        let lane = entry.lane!
        let before = entry.previous
        let after = entry.next.load(ordering: .relaxed)
        if let before {
            before.next.store(after, ordering: .sequentiallyConsistent)
        } else if lane.isForInterceptors {
            interceptorHead.store(after, ordering: .sequentiallyConsistent)
        } else {
            head.store(after, ordering: .sequentiallyConsistent)
        }
        Unmanaged<ListenerEntry>.at(after)?._withUnsafeGuaranteedRef { $0.previous = before }
        if cursor === entry { cursor = Unmanaged<ListenerEntry>.at(after)?.takeUnretainedValue() }
        if lane.tail === entry {
            if let before, before.lane === lane {
                lane.tail = before
            } else {
                lane.tail = nil
                keepEmpty(lane)
            }
        }
        entry.previous = nil
        if !lane.isForInterceptors { listenerCount.store(listenerCount.load(ordering: .relaxed) - 1, ordering: .releasing) }
    }
}
