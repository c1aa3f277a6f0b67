internal import Synchronization

/// Taking messages out for a sequence, by whichever task reads.
extension Mailbox {
    /// Moves the first message to uninitialised memory.
    ///
    /// - Parameter envelope: Receives what travelled with it, to be released without the lock.
    func takeOne(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard policy.kind == .unbounded else {
            // What waits stays where a full buffer can drop it.
            return lock.withLock {
                guard !incoming.isEmpty else { return false }
                envelope = incoming.moveFirst(to: place)
                delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
                if incoming.isEmpty { isBusy.store(false, ordering: .releasing) }
                return true
            }
        }
        return readLock.withLock {
            if batch.isEmpty, !refillForReaders() { return false }
            envelope = batch.moveFirst(to: place)
            delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
            return true
        }
    }

    /// Takes everything that has come at once: readers and posters seldom meet at the lock. Under the
    /// readers' lock.
    private func refillForReaders() -> Bool {
        return lock.withLock {
            guard !incoming.isEmpty else {
                incoming.giveBack()
                isBusy.store(false, ordering: .releasing)
                return false
            }
            swap(&incoming, &batch)
            hasTaken = true
            return true
        }
    }

    /// Discards what readers have taken out and not read. The listener was cancelled: nothing follows.
    func discardTaken() {
        var discarded: MessageQueue?
        readLock.withLock { discarded = batch.takeAll() }
        discarded?.discardAll()
    }

    /// Waits a moment, after messages were taken. Whether others have come.
    var comesInQuickly: Bool {
        let hadMessages = readLock.withLock {
            defer { hasTaken = false }
            return hasTaken
        }
        guard hadMessages else { return false }
        gather()
        return mayHoldMessages
    }

    /// Whether it is worth taking the lock to look.
    var mayHoldMessages: Bool { isBusy.load(ordering: .acquiring) }

    /// Whether anything waits.
    var hasWaiting: Bool {
        // Both at once: another reader may be moving messages from the one to the other.
        readLock.withLock { !batch.isEmpty || lock.withLock { !incoming.isEmpty } }
    }
}
