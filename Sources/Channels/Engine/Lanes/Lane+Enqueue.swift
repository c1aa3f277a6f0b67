internal import CChannels
internal import Synchronization

extension Lane {
    /// The most listeners served in one critical section, during which the drain and other posters wait.
    private static let mostAtOnce = 32

    /// Enqueues a message without an envelope in an unbounded buffer. Unless it is for this listener `alone`, the same
    /// critical section serves listeners that follow in the list, share this lane and need nothing else; the drain
    /// checks their owners. The caller has entered the list. Returns how many listeners were served: 0 if this one has
    /// ended. The frame then names the last of them as its listener.
    func enqueue(_ frame: FrameReference, _ listener: ListenerEntry, _ mailbox: Mailbox, alone: Bool) -> Int {
        let (message, number) = (frame.pointee.message, frame.pointee.number)
        let most = alone ? 1 : Self.mostAtOnce
        var arrival = Arrival()
        var count = 0
        lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard messages, so it finds what is enqueued here.
            guard !listener.isCancelled, !mailbox.state.isDead else { return }
            mailbox.state.append(copying: message)
            arrival = append(listener, mailbox)
            count = 1
            var address = listener.next.load(ordering: .sequentiallyConsistent)
            while count < most, let entry = Unretained<ListenerEntry>(address: address) {
                let isIn = entry.borrow { listener in
                    address = listener.next.load(ordering: .sequentiallyConsistent)
                    // The same condition as in `ListenerList.deliverByRoute`, and the listener must not be cancelled.
                    let state = listener.state
                    guard state.routing == .waitsInLane, state.isOld(before: number) else { return false }
                    return listener.knownMailbox.borrow { mailbox in
                        guard mailbox.laneReference == Unretained(self), mailbox.isUnbounded,
                            !mailbox.state.isDead
                        else { return false }
                        mailbox.state.append(copying: message)
                        let next = append(listener, mailbox)
                        arrival = Arrival(
                            starts: arrival.starts || next.starts,
                            isBacklog: arrival.isBacklog || next.isBacklog
                        )
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

    /// Adds the ticket of an enqueued message. Called under the lock. The caller then calls ``finish(_:_:)`` without
    /// it.
    func append(_ listener: ListenerEntry, _ mailbox: Mailbox) -> Arrival {
        if mailbox.state.isLookDue { listener.lookForOwner() }
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        let arrival = state.append(Unretained(listener))
        if arrival.starts { noteActivity() }
        return arrival
    }

    /// Starts the drain, or reports that too many messages wait.
    func finish(_ arrival: Arrival, _ listener: ListenerEntry) {
        if arrival.starts { schedule() }
        if arrival.isBacklog { listener.reportBacklog(lock.withLock { state.count }) }
    }
}
