internal import Synchronization

extension Mailbox {
    /// Moves the first message to uninitialised memory. Returns false if there is none. The caller releases
    /// `envelope` without the lock.
    func takeOne(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard isUnbounded else {
            guard mayHoldMessages else { return false }
            // The other messages stay in the buffer, where they can still be dropped.
            return withLock {
                guard !state.incoming.isEmpty else { return false }
                envelope = state.incoming.moveFirst(to: place)
                countDelivered()
                if state.incoming.isEmpty { holdsMessages.store(false, ordering: .releasing) }
                return true
            }
        }
        return readLock.withLock {
            // Posters write `holdsMessages`, so it is read only if the batch is empty.
            if batch.isEmpty, !mayHoldMessages || !refillForReaders() { return false }
            envelope = batch.moveFirst(to: place)
            countDelivered()
            return true
        }
    }

    /// Takes all messages, so that readers and posters seldom contend. The caller holds the readers' lock.
    private func refillForReaders() -> Bool {
        withLock {
            guard !state.incoming.isEmpty else {
                state.incoming.giveBack()
                holdsMessages.store(false, ordering: .releasing)
                return false
            }
            state.takeAll(into: &batch)
            hasTaken = true
            return true
        }
    }

    /// Discards messages that readers have taken but not read. Called once the listener is cancelled.
    func discardTaken() {
        var discarded = MessageQueue(layout)
        readLock.withLock { swap(&batch, &discarded) }
        discarded.discardAll()
    }

    /// Spins briefly if messages were taken since the last call. Returns whether more have arrived.
    var comesInQuickly: Bool {
        let hadMessages = readLock.withLock {
            defer { hasTaken = false }
            return hasTaken
        }
        guard hadMessages else { return false }
        // Stops before so many wait that messages would be dropped.
        let most = min(DrainState.mostGathered, policy.limit / 2)
        Lane.gather(arrived, beyond: delivered.load(ordering: .relaxed), most: most)
        return mayHoldMessages
    }

    var mayHoldMessages: Bool { holdsMessages.load(ordering: .acquiring) }

    var hasWaiting: Bool {
        // Both locks are held: another reader may be moving messages from one queue to the other.
        readLock.withLock { !batch.isEmpty || withLock { !state.incoming.isEmpty } }
    }
}
