internal import CChannels
internal import Dispatch
internal import Synchronization

extension Lane {
    /// The most listeners served under one lock, for which the drain and other posters wait.
    private static let mostAtOnce = 32
    /// After how many messages to a listener its owner is checked. A power of two.
    private static let messagesPerLook = 1_024

    /// Enqueues a message without an envelope in an unbounded buffer. Returns 1; 0 if the listener has ended.
    func enqueue(_ message: MessageAddress, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Int {
        var appended: LaneState.Appended = []
        let isIn = lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is enqueued here.
            guard !listener.isCancelled, !mailbox.state.isDead else { return false }
            appended = add(message, listener, mailbox)
            return true
        }
        if !appended.isEmpty { finish(appended, listener) }
        return isIn ? 1 : 0
    }

    /// Enqueues a message, under one lock, for a listener and for those that follow it in its list, need no
    /// other treatment and share this lane, whose drain checks their owners. The caller has entered the list. Returns
    /// how many have the message; the frame names the last of them as its listener.
    func enqueueForSeveral(_ frame: FrameReference, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Int {
        let (message, number) = (frame.pointee.message, frame.pointee.number)
        var appended: LaneState.Appended = []
        var count = 0
        lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is enqueued here.
            guard !listener.isCancelled, !mailbox.state.isDead else { return }
            appended = add(message, listener, mailbox)
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
                        appended.formUnion(add(message, listener, mailbox))
                        return true
                    }
                }
                guard isIn else { break }
                frame.pointee.listener = entry
                count += 1
            }
        }
        if !appended.isEmpty { finish(appended, listener) }
        return count
    }

    /// Enqueues a message and its ticket. Called under the lock.
    private func add(_ message: MessageAddress, _ listener: ListenerEntry, _ mailbox: Mailbox) -> LaneState.Appended {
        mailbox.state.append(copying: message)
        return append(listener, mailbox)
    }

    /// Adds the ticket of an enqueued message, under the lock. The caller then calls ``finish(_:_:)`` without it.
    func append(_ listener: ListenerEntry, _ mailbox: Mailbox) -> LaneState.Appended {
        if mailbox.state.admitted & (Self.messagesPerLook - 1) == 0 { lookForOwner(of: listener, mailbox) }
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        let appended = state.append(Unretained(listener))
        if appended.contains(.startsDrain) { noteActivity() }
        return appended
    }

    /// Starts the drain, or reports that too many messages wait.
    func finish(_ appended: LaneState.Appended, _ listener: ListenerEntry) {
        if appended.contains(.startsDrain) { schedule() }
        guard appended.contains(.isBacklog), let list = listener.list else { return }
        let count = lock.withLock { state.count }
        list.faults.report(
            .laneBacklog,
            list: list,
            listener: listener,
            detail: .text("\(count) messages wait in the lane")
        )
    }

    /// Has a job check the owner if many messages wait: posts do not, and the drain may take long to get
    /// there. Under the lock a weak reference must not be loaded, because that may release the owner.
    private func lookForOwner(of listener: ListenerEntry, _ mailbox: Mailbox) {
        guard listener.hasOwner, mailbox.state.incoming.count >= Self.messagesPerLook else { return }
        DispatchQueue.global().async { if listener.isOrphan { listener.list?.cancel(listener) } }
    }
}
