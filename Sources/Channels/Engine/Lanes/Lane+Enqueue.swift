internal import CChannels
internal import Synchronization

extension Lane {
    /// The most listeners served under one lock, for which the drain and other posters wait.
    private static let mostAtOnce = 32

    /// Enqueues a message without an envelope in an unbounded buffer. Returns 1; 0 if the listener has ended.
    func enqueue(_ message: MessageAddress, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Int {
        var arrival: Arrival = []
        let isIn = lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is enqueued here.
            guard !listener.isCancelled, !mailbox.state.isDead else { return false }
            arrival = add(message, listener, mailbox)
            return true
        }
        if !arrival.isEmpty { finish(arrival, listener) }
        return isIn ? 1 : 0
    }

    /// Enqueues a message, under one lock, for a listener and for those that follow it in its list, need no
    /// other treatment and share this lane, whose drain checks their owners. The caller has entered the list. Returns
    /// how many have the message; the frame names the last of them as its listener.
    func enqueueForSeveral(_ frame: FrameReference, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Int {
        let (message, number) = (frame.pointee.message, frame.pointee.number)
        var arrival: Arrival = []
        var count = 0
        lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is enqueued here.
            guard !listener.isCancelled, !mailbox.state.isDead else { return }
            arrival = add(message, listener, mailbox)
            count = 1
            var address = listener.next.load(ordering: .sequentiallyConsistent)
            while count < Self.mostAtOnce, let entry = Unretained<ListenerEntry>(address: address) {
                let isIn = entry.borrow { listener in
                    address = listener.next.load(ordering: .sequentiallyConsistent)
                    // As in `ListenerList.deliverByRoute`, and not if it is cancelled.
                    let word = listener.word.load(ordering: .acquiring)
                    guard word & ListenerEntry.routing == ListenerEntry.laned, word & ListenerEntry.number < number
                    else { return false }
                    return listener.knownMailbox.borrow { mailbox in
                        guard mailbox.laneReference == Unretained(self), mailbox.isUnbounded,
                            !mailbox.state.isDead
                        else { return false }
                        arrival.formUnion(add(message, listener, mailbox))
                        return true
                    }
                }
                guard isIn else { break }
                frame.pointee.listener = entry
                count += 1
            }
        }
        if !arrival.isEmpty { finish(arrival, listener) }
        return count
    }

    /// Enqueues a message and its ticket. Called under the lock.
    private func add(_ message: MessageAddress, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Arrival {
        mailbox.state.append(copying: message)
        return append(listener, mailbox)
    }

    /// Adds the ticket of an enqueued message, under the lock. The caller then calls ``finish(_:_:)`` without it.
    func append(_ listener: ListenerEntry, _ mailbox: Mailbox) -> Arrival {
        listener.messageArrived(in: mailbox.state)
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        let arrival = state.append(Unretained(listener))
        if arrival.contains(.starts) { noteActivity() }
        return arrival
    }

    /// Starts the drain, or reports that too many messages wait.
    func finish(_ arrival: Arrival, _ listener: ListenerEntry) {
        if arrival.contains(.starts) { schedule() }
        if arrival.contains(.isBacklog) { listener.reportBacklog(lock.withLock { state.count }) }
    }
}
