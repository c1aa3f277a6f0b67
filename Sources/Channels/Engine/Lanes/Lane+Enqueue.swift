internal import CChannels
internal import Dispatch
internal import Synchronization

/// How messages and their tickets come into a lane.
extension Lane {
    /// For so many listeners a message is let in at a time: the drain and other posters wait for the lock.
    private static let mostAtOnce = 32
    /// After how many messages to a listener its owner is looked for. A power of two.
    private static let messagesPerLook = 1_024

    /// Puts a message in with which nothing travels, into a buffer without a bound: what nearly every post does.
    ///
    /// - Returns: 1 if the listener has the message, otherwise 0.
    @inline(__always)
    func enqueue(_ message: MessageAddress, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Int {
        var appended: LaneState.Appended = []
        let isIn = lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what was enqueued before.
            guard !listener.isCancelled, !mailbox.state.isDead else { return false }
            appended = add(message, listener, mailbox)
            return true
        }
        if !appended.isEmpty { finish(appended, listener) }
        return isIn ? 1 : 0
    }

    /// Puts a message in under one lock for a listener and for those that follow it in its list, need no other
    /// treatment and have their turns in this lane, too. The caller has entered the list.
    ///
    /// - Returns: How many have the message. Where there is more than one, the frame names the last as its
    ///   listener.
    @inline(never)
    func enqueueForSeveral(_ frame: FrameReference, _ listener: ListenerEntry, _ mailbox: Mailbox) -> Int {
        let (message, number) = (frame.pointee.message, frame.pointee.number)
        var appended: LaneState.Appended = []
        var count = 0
        lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is let in here.
            guard !listener.isCancelled, !mailbox.state.isDead else { return }
            appended = add(message, listener, mailbox)
            count = 1
            var address = listener.next.load(ordering: .sequentiallyConsistent)
            while count < Self.mostAtOnce, let entry = Unretained<ListenerEntry>(address: address) {
                let isIn = entry.borrow { listener in
                    address = listener.next.load(ordering: .sequentiallyConsistent)
                    // As in `ListenerList.deliverSlow`; not if it is cancelled, either.
                    let word = listener.word.load(ordering: .acquiring)
                    guard word & ListenerEntry.treatment == ListenerEntry.waits, word & ListenerEntry.number < number
                    else { return false }
                    return listener.certainMailbox.borrow { mailbox in
                        guard mailbox.laneReference?.address == Unretained(self).address, mailbox.isUnbounded,
                            mailbox.isBusy.load(ordering: .relaxed) || word & ListenerEntry.owned == 0,
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

    /// Lets a message in, and adds its ticket. Under the lock.
    @inline(__always)
    private func add(_ message: MessageAddress, _ listener: ListenerEntry, _ mailbox: Mailbox) -> LaneState.Appended {
        let isFirst = mailbox.state.append(copying: message)
        return append(listener, mailbox, isFirst: isFirst)
    }

    /// Adds the ticket of a message that a mailbox has let in. Under the lock. ``finish(_:_:)`` is to follow
    /// without it.
    ///
    /// - Parameter isFirst: Whether it is the listener's only one.
    @inline(__always)
    func append(_ listener: ListenerEntry, _ mailbox: Mailbox, isFirst: Bool) -> LaneState.Appended {
        if isFirst { mailbox.isBusy.store(true, ordering: .releasing) }
        if mailbox.state.admitted & (Self.messagesPerLook - 1) == 0 { lookForOwner(of: listener, mailbox) }
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        return state.append(Unretained(listener))
    }

    /// Starts the drain, or reports that too many messages wait.
    @inline(never)
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

    /// Posts do not look at the owner of a listener for which messages wait, and the drain may not come to it for
    /// long: its actor is busy, or its queue suspended. So a job looks, if many wait. Under the lock, where a weak
    /// reference must not be loaded: the owner may be released then.
    @inline(never)
    private func lookForOwner(of listener: ListenerEntry, _ mailbox: Mailbox) {
        guard listener.hasOwner, mailbox.state.incoming.count >= Self.messagesPerLook else { return }
        DispatchQueue.global().async { if listener.isOrphan { listener.list?.cancel(listener) } }
    }
}
