internal import Synchronization

extension ListenerList {
    /// Ends and unlinks an entry. May be called on any thread, and more than once. Returns whether this call ended it.
    @discardableResult
    func remove(_ entry: ListenerEntry, as reason: ListenerState = .cancelled) -> Bool {
        // Only the thread that sets the first of the two bits removes the entry.
        let before = entry.insert(reason)
        guard !before.hasEnded else { return false }
        takeOut(entry, wasOwned: before.contains(.owned))
        return true
    }

    /// Ends a listener and discards what waits for it. May be called on any thread, and more than once.
    func cancel(_ entry: ListenerEntry) {
        remove(entry)
        entry.didEnd(discards: true)
    }

    private func takeOut(_ entry: ListenerEntry, wasOwned: Bool) {
        if wasOwned, let activeInstrument, entry.owner == nil { activeInstrument.didLoseOwner() }
        let isWaiting = withBareLock {
            unlink(entry)
            if wasOwned { ownedCount -= 1 }
            if entry.isForwarder { forwarderCount -= 1 }
            return waits(entry)
        }
        if wasOwned { ThreadReference.current.pointee.countRemoved() }
        if !isWaiting { freeUnlessUsed(entry) }
        didUnlock()
        if let delegate { delegate.didChangeListening(in: self) }
    }

    /// Ends every listener and interceptor, because the channel is deallocated or finished. Waiting messages are still
    /// delivered.
    func close() {
        guard !hasClosed else { return }
        var closing: [ListenerEntry] = []
        var unlinked: [ListenerEntry] = []
        let formerSweeper = withBareLock { () -> Sweeper? in
            isClosed = true
            var address = head.load(ordering: .relaxed)
            while let entry = Unretained<ListenerEntry>(address: address)?.object {
                address = entry.next.load(ordering: .relaxed)
                // One that another thread has ended is unlinked there.
                guard !entry.insert(.closed).hasEnded else { continue }
                closing.append(entry)
                unlink(entry)
                if !waits(entry) { unlinked.append(entry) }
            }
            // Levels retain the list.
            recentLevel = nil
            levels.removeEmpty()
            emptyLevelCount = 0
            // If two threads close the list, only one of them takes the sweeper.
            defer { sweeper = nil }
            return sweeper
        }
        formerSweeper?.remove(self)
        // Before user code runs, so that whatever it posts to the name goes to another channel.
        delegate?.didClose(self)
        // Before the entries are freed. If messages wait, they are delivered first, and the closure is freed
        // afterwards.
        for entry in closing { entry.didEnd(discards: false) }
        if isLocal {
            for entry in unlinked { free(entry) }
        } else if !unlinked.isEmpty {
            freeUnlessUsed(unlinked.map { Unretained($0).untyped })
        }
        didUnlock()
    }

    /// Ends every listener and interceptor of an owner.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    func removeListeners(of owner: AnyObject) {
        forEachEntry { entry in
            if entry.owner === owner { entry.cancel() }
        }
    }

    /// Ends every listener and interceptor except those of patterns.
    func removeAllListeners() { forEachEntry { if !$0.isForwarder { $0.cancel() } } }

    /// Ends every listener and interceptor of an owner, and suspends until no call of any of them is running.
    func removeListenersAndWait(of owner: AnyObject) async {
        let removed = entries(of: owner)
        for entry in removed { entry.cancel() }
        for entry in removed { await entry.cancelAndWait() }
    }

    func drainListeners(of owner: AnyObject) async {
        let drained = entries(of: owner)
        for entry in drained { entry.end() }
        for entry in drained { await entry.drain() }
    }

    private func entries(of owner: AnyObject) -> [ListenerEntry] {
        var found: [ListenerEntry] = []
        forEachEntry { if $0.owner === owner { found.append($0) } }
        return found
    }

    /// Whether an object owns a listener or an interceptor.
    func hasListeners(of owner: AnyObject) -> Bool {
        var isFound = false
        visitEntries { entry in
            isFound = entry.owner === owner && !entry.hasEnded
            return !isFound
        }
        return isFound
    }

    /// Removes the listeners whose owner was deallocated, and returns how many listeners are left.
    func pruneAndCount() -> Int {
        if withLock({ ownedCount > 0 }) { forEachEntry { if $0.isOrphan { cancel($0) } } }
        return listenerCount.load(ordering: .acquiring)
    }

    /// Visits every listener and interceptor, without the lock; the body may do anything that a listener may do. Skips
    /// those registered meanwhile, because others might register as fast as the body removes.
    package func forEachEntry(_ body: (ListenerEntry) -> Void) {
        visitEntries { entry in
            body(entry)
            return true
        }
    }

    /// Visits the entries as ``forEachEntry(_:)`` does, as long as the body returns true.
    func visitEntries(_ body: (ListenerEntry) -> Bool) {
        let thread = ThreadReference.current
        enter(thread)
        defer { leave(thread) }
        let (number, renumbered) = withLock { (nextNumberNow, renumberedCount.load(ordering: .relaxed)) }
        walk { entry in
            // A number this high may also belong to an old entry that has been renumbered meanwhile.
            let isNew =
                entry.borrow(\.number) >= number && renumberedCount.load(ordering: .relaxed) == renumbered
            return isNew || body(entry.object) ? entry : nil
        }
    }
}
