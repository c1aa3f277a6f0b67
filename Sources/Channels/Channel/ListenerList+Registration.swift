internal import Synchronization

extension ListenerList {
    /// Puts an entry in, behind those of its priority. Afterwards posts reach it.
    ///
    /// A weak reference to an object that is being deinitialised is nil from the start: such an owner's entry is an orphan as any other.
    ///
    /// - Returns: False where the channel has gone: the entry is then inactive.
    /// - Complexity: O(1) for the priorities in use, O(log *p*) to start a new one of *p*.
    @discardableResult
    func add(_ entry: ListenerEntry, priority: Int, asInterceptor: Bool = false) -> Bool {
        let outcome = insert(entry, priority: priority, asInterceptor: asInterceptor)
        if outcome.sweeps { sweepSome() }
        lockWasGivenUp()
        if let onListeningChange { onListeningChange() }
        return outcome.isIn
    }

    /// The same without what may run user code: the caller, who holds a lock of his own, looks after `sweeps` later and then calls
    /// ``lockWasGivenUp()``.
    func insert(_ entry: ListenerEntry, priority: Int, asInterceptor: Bool = false) -> (isIn: Bool, sweeps: Bool) {
        let isOwned = entry.word.load(ordering: .relaxed) & ListenerEntry.owned != 0
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

    /// Gives an entry a new number, as if it had just been registered, in its old place. The caller calls
    /// ``lockWasGivenUp()`` when it holds no lock of its own any more.
    func renumber(_ entry: ListenerEntry, clearing bits: UInt64) {
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
    func remove(_ entry: ListenerEntry, as reason: UInt64 = ListenerEntry.cancelled, inSweep: Bool = false) -> Bool {
        // Whoever sets the first of the two bits owns the entry's removal, so it is taken out, and freed, once.
        let (before, _) = entry.word.bitwiseOr(reason, ordering: .sequentiallyConsistent)
        guard before & ListenerEntry.ended == 0 else { return false }
        takeOut(entry, wasOwned: before & ListenerEntry.owned != 0, inSweep: inSweep)
        return true
    }

    private func takeOut(_ entry: ListenerEntry, wasOwned: Bool, inSweep: Bool) {
        var freed = RetiredEntries.Chain()
        let (needsBarrier, sweeps) = withLock { () -> (Bool, Bool) in
            unlink(entry)
            if wasOwned { ownedCount -= 1 }
            if entry.isForwarder { forwarderCount -= 1 }
            // What a sweep takes out is no change that calls for another: sweeps would nest.
            return (retire(entry, freed: &freed), !inSweep && changeCallsForSweep())
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
            // Lanes hold the list.
            recentLane = nil
            lanes.removeEmpty()
            interceptorLanes.removeEmpty()
            emptyLaneCount = 0
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
        lockWasGivenUp()
        return result
    }

    /// Does the work of posts that ended while the calling thread held the lock. Whoever has held it calls this, without any lock: it may run
    /// user code.
    @inline(__always)
    func lockWasGivenUp() {
        // Set, under the lock, before a post could leave anything to do, so a holder that came later sees it.
        if hasRetired.load(ordering: .relaxed) { collectIfAsked() }
    }

    /// The lane of a priority, which is in its index; that holds it until it is discarded.
    @inline(__always)
    private func lane(of priority: Int, forInterceptors: Bool) -> Unmanaged<Lane> {
        if let recentLane, recentLane._withUnsafeGuaranteedRef({ $0.priority == priority && $0.isForInterceptors == forInterceptors }) {
            return recentLane
        }
        return findLane(of: priority, forInterceptors: forInterceptors)
    }

    @inline(never)
    private func findLane(of priority: Int, forInterceptors: Bool) -> Unmanaged<Lane> {
        let lane: Lane
        if let found = forInterceptors ? interceptorLanes.lane(of: priority) : lanes.lane(of: priority) {
            lane = found
        } else {
            lane = Lane(priority: priority, list: self, isForInterceptors: forInterceptors)
            if forInterceptors { interceptorLanes.insert(lane) } else { lanes.insert(lane) }
            lane.isIndexed = true
            emptyLaneCount += 1
        }
        // Its index holds it, and whoever takes it out there clears `recentLane`.
        recentLane = .passUnretained(lane)
        return .passUnretained(lane)
    }

    private func link(_ entry: ListenerEntry, into lane: Unmanaged<Lane>) {
        entry.laneReference = lane.retain()  // given back in the entry's deinit
        let number = nextNumber.load(ordering: .relaxed)
        // The bits above the number are only added to later, by whoever has the token, which nobody has yet.
        entry.word.store(entry.word.load(ordering: .relaxed) | number, ordering: .relaxed)
        // The list's reference; given back in `RetiredEntries.Chain.free`.
        let address = UInt(bitPattern: Unmanaged.passRetained(entry).toOpaque())
        lane._withUnsafeGuaranteedRef { lane in
            let before = lane.tail != 0 ? lane.tail : begin(lane)
            let after =
                Unmanaged<ListenerEntry>.at(before)?._withUnsafeGuaranteedRef { $0.next.load(ordering: .relaxed) }
                ?? firstAddress(in: lane)
            entry.previous = before
            entry.next.store(after, ordering: .relaxed)
            Unmanaged<ListenerEntry>.at(after)?._withUnsafeGuaranteedRef { $0.previous = address }
            if let before = Unmanaged<ListenerEntry>.at(before) {
                before._withUnsafeGuaranteedRef { $0.next.store(address, ordering: .releasing) }
            } else if lane.isForInterceptors {
                interceptorHead.store(address, ordering: .releasing)
            } else {
                head.store(address, ordering: .releasing)
            }
            lane.tail = address
            // After the link: a post that reads the higher number finds the entry.
            nextNumber.store(number + 1, ordering: .releasing)
            if !lane.isForInterceptors { listenerCount.store(listenerCount.load(ordering: .relaxed) + 1, ordering: .releasing) }
        }
    }

    private func firstAddress(in lane: Lane) -> UInt {
        lane.isForInterceptors ? interceptorHead.load(ordering: .relaxed) : head.load(ordering: .relaxed)
    }

    /// The first entry of a lane is about to come.
    ///
    /// - Returns: The address of the last entry of the next higher priority, or 0.
    @inline(__always)
    private func begin(_ lane: Lane) -> UInt {
        emptyLaneCount -= 1
        return firstAddress(in: lane) == 0 ? 0 : lastAddress(above: lane)
    }

    @inline(never)
    private func lastAddress(above lane: Lane) -> UInt {
        func next(above priority: Int) -> Lane? {
            lane.isForInterceptors ? interceptorLanes.lane(above: priority) : lanes.lane(above: priority)
        }
        // Few lanes are empty.
        var above = next(above: lane.priority)
        while let lane = above, lane.tail == 0 { above = next(above: lane.priority) }
        return above?.tail ?? 0
    }

    /// Up to so many empty lanes are kept for the next listener of their priority: one that comes and goes allocates nothing but itself.
    private static var mostEmptyLanes: Int32 { 16 }

    private func laneIsEmpty(_ lane: Lane) {
        // A lane holds the list, and a closed list is not closed a second time.
        guard isClosed || emptyLaneCount >= Self.mostEmptyLanes else {
            emptyLaneCount += 1
            return
        }
        if let recentLane, recentLane.toOpaque() == Unmanaged.passUnretained(lane).toOpaque() { self.recentLane = nil }  // compared only
        lane.isIndexed = false
        if lane.isForInterceptors { interceptorLanes.remove(lane) } else { lanes.remove(lane) }
    }

    private func unlink(_ entry: ListenerEntry) {
        // The entry holds the lane.
        entry.laneReference.unsafelyUnwrapped._withUnsafeGuaranteedRef { lane in
            let address = entry.address
            let before = entry.previous
            let after = entry.next.load(ordering: .relaxed)
            if let before = Unmanaged<ListenerEntry>.at(before) {
                before._withUnsafeGuaranteedRef { $0.next.store(after, ordering: .sequentiallyConsistent) }
            } else if lane.isForInterceptors {
                interceptorHead.store(after, ordering: .sequentiallyConsistent)
            } else {
                head.store(after, ordering: .sequentiallyConsistent)
            }
            Unmanaged<ListenerEntry>.at(after)?._withUnsafeGuaranteedRef { $0.previous = before }
            if cursor == address { cursor = after }
            if lane.tail == address {
                let hasNeighbour = Unmanaged<ListenerEntry>.at(before)?._withUnsafeGuaranteedRef {
                    $0.laneReference?.toOpaque() == entry.laneReference?.toOpaque()
                }
                if hasNeighbour == true {
                    lane.tail = before
                } else {
                    lane.tail = 0
                    laneIsEmpty(lane)
                }
            }
            entry.previous = 0
            if !lane.isForInterceptors { listenerCount.store(listenerCount.load(ordering: .relaxed) - 1, ordering: .releasing) }
        }
    }
}
