internal import Synchronization

// Adding: where entries are made, and how they are inserted.
extension ListenerList {
    /// Makes an entry of a listener.
    ///
    /// - Parameter isCounted: Whether its calls are counted without diagnostics, too.
    @inline(__always)
    func makeEntry(_ listener: borrowing Registration, isCounted: Bool = false) -> ListenerEntry {
        var bits = listener.owner == nil ? 0 : ListenerEntry.owned
        if listener.isOnce { bits |= ListenerEntry.once }
        if !listener.isBare { bits |= ListenerEntry.general }
        var counters: ListenerCounters?
        if case .isolated(nil) = listener.delivery, !isCounted {
            // Nothing of it is counted.
        } else {
            counters = makeCounters(listener, isCounted, &bits)
        }
        return ListenerEntry(
            bits: bits,
            owner: listener.owner,
            counters: counters,
            site: listener.site,
            call: listener.call
        )
    }

    /// Makes the mailbox of a listener that has one, or what counts its calls.
    @inline(never)
    private func makeCounters(
        _ listener: borrowing Registration,
        _ isCounted: Bool,
        _ bits: inout UInt64
    ) -> ListenerCounters? {
        let lane: Lane?
        var asyncCall: AsyncListenerCall?
        var readers: SequenceReaders?
        switch listener.delivery {
        case .isolated(let actor?): lane = Lane.of(actor)
        case .owner:
            guard let owner = listener.owner as? any Actor else {
                preconditionFailure("a listener is to run on its owner, which is no actor")
            }
            lane = Lane.of(owner)
        case .queue(let queue): lane = Lane.of(queue)
        case .async(let call, let isolation):
            lane = Lane(.awaiting(isolation))
            asyncCall = call
        case .sequence(let found):
            lane = nil
            readers = found
        case .responder(let calls):
            bits |= ListenerEntry.special
            return ListenerCounters(responderCalls: calls)
        case .forwarder(let forwarder):
            bits |= ListenerEntry.forwards
            if isCounted { bits |= ListenerEntry.special }
            return forwarder
        case .isolated(nil), .interceptor:
            guard isCounted else { return nil }
            bits |= ListenerEntry.special
            return ListenerCounters()
        }
        bits |= ListenerEntry.waits
        let buffering = listener.buffering ?? .unbounded
        return Mailbox(lane, readers: readers, layout, buffering, awaiting: asyncCall)
    }

    /// Registers a listener for as long as its owner or the token lives.
    @usableFromInline
    func register(_ listener: borrowing Registration) -> ListenerToken {
        add(listener).makeToken()
    }

    /// Makes an entry of a listener and puts it in.
    @inline(__always)
    func add(_ listener: borrowing Registration) -> ListenerEntry {
        let entry = makeEntry(listener)
        add(entry, priority: listener.priority.rawValue, asInterceptor: listener.isInterceptor)
        return entry
    }

    /// Inserts an entry, after those of its priority. From then on posts reach it.
    ///
    /// A weak reference to an object being deinitialised is nil from the start: such an owner's entry is an
    /// orphan like any other.
    ///
    /// - Complexity: O(1) for a priority in use, O(log *p*) to add one to *p*.
    private func add(_ entry: ListenerEntry, priority: Int, asInterceptor: Bool) {
        let outcome = insert(entry, priority: priority, asInterceptor: asInterceptor)
        if outcome.sweeps { sweepSome() }
        didUnlock()
        if let delegate { delegate.listeningChanged(in: self) }
    }

    /// The same without running user code: the caller, which holds a lock of its own, handles `sweeps` later
    /// and then calls ``didUnlock()``.
    ///
    /// - Returns: `isIn` is false if the channel was deallocated: the entry is then inactive.
    func insert(
        _ entry: ListenerEntry,
        priority: Int,
        asInterceptor: Bool = false
    ) -> (isIn: Bool, sweeps: Bool) {
        let isOwned = entry.hasOwner
        let outcome = withBareLock { () -> (Bool, Bool) in
            guard !isClosed else { return (false, false) }
            if entry.mayWait {
                // Before linking: a state that reads the higher number finds this, too.
                mayHaveMailboxes.store(true, ordering: .relaxed)
                if entry.isForwarder { forwarderCount += 1 }
            }
            link(entry, into: level(of: priority, forInterceptors: asInterceptor))
            if isOwned { ownedCount += 1 }
            return (true, changeCallsForSweep())
        }
        if !outcome.0 { entry.word.bitwiseOr(ListenerEntry.closed, ordering: .sequentiallyConsistent) }
        return outcome
    }

    /// Gives an entry a new number, as if it had just been registered, in its old place. The caller calls
    /// ``didUnlock()`` once it holds no lock.
    func renumber(_ entry: ListenerEntry, clearing bits: UInt64) {
        withBareLock {
            let number = nextNumber.load(ordering: .relaxed)
            // Before the number changes: who reads that reads this.
            renumberedCount.wrappingAdd(1, ordering: .relaxed)
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
}
