internal import Synchronization

/// How the readers of a sequence take messages.
extension Mailbox {
    /// Moves the first message to uninitialised memory.
    ///
    /// - Parameter envelope: Receives the message's envelope, to be released without the lock.
    func takeOne(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard isUnbounded else {
            guard mayHoldMessages else { return false }
            // Other messages stay in the buffer, which can drop them.
            return withLock {
                guard !state.incoming.isEmpty else { return false }
                envelope = state.incoming.moveFirst(to: place)
                countDelivered()
                if state.incoming.isEmpty { isBusy.store(false, ordering: .releasing) }
                return true
            }
        }
        return readLock.withLock {
            // Posters write what is looked at here: not for each message.
            if batch.isEmpty, !mayHoldMessages || !refillForReaders() { return false }
            envelope = batch.moveFirst(to: place)
            countDelivered()
            return true
        }
    }

    /// Takes everything at once, so that readers and posters seldom contend for the lock. Under the readers'
    /// lock.
    private func refillForReaders() -> Bool {
        withLock {
            guard !state.incoming.isEmpty else {
                state.incoming.giveBack()
                isBusy.store(false, ordering: .releasing)
                return false
            }
            state.takeAll(into: &batch)
            hasTaken = true
            return true
        }
    }

    /// Discards what readers have taken and not read. The listener was cancelled: no message follows.
    func discardTaken() {
        var discarded = MessageQueue(layout)
        readLock.withLock { swap(&batch, &discarded) }
        discarded.discardAll()
    }

    /// Spins briefly, after messages were taken. Returns whether more have arrived.
    var comesInQuickly: Bool {
        let hadMessages = readLock.withLock {
            defer { hasTaken = false }
            return hasTaken
        }
        guard hadMessages else { return false }
        // Not for as many as would be dropped.
        let most = min(DrainState.mostGathered, policy.limit / 2)
        Lane.gather(arrived, beyond: delivered.load(ordering: .relaxed), most: most)
        return mayHoldMessages
    }

    /// Whether it is worth taking the lock to look.
    var mayHoldMessages: Bool { isBusy.load(ordering: .acquiring) }

    /// Whether a message waits.
    var hasWaiting: Bool {
        // Both at once: another reader may be moving messages from the one to the other.
        readLock.withLock { !batch.isEmpty || withLock { !state.incoming.isEmpty } }
    }
}
