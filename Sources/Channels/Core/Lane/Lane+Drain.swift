internal import CChannels
internal import Dispatch
internal import Synchronization

/// The drain: one job that delivers what waits in the lane, on its actor or queue.
extension Lane {
    /// How often an emptied lane is looked at before the drain takes what has come, or ends if nothing has.
    private static let looks = 2
    /// About a microsecond: less than a new job costs.
    private static let spinsBetweenLooks = 48
    /// How many messages end the polling early. The drain takes many at once, so that posters and the drain
    /// seldom contend for the lock.
    private static let gathered = 32

    /// Starts the drain. The caller has been told to by ``LaneState``.
    func schedule() {
        switch target {
        case .queue(let queue): queue.async { if self.drain() != .idle { self.schedule() } }
        case .mainActor:
            let turns: @MainActor @Sendable () async -> Void = { await self.runTurnsOnMainActor() }
            Task.detached(operation: turns)
        case .actor:
            Task.detached {
                await self.runTurns {
                    // Held for one turn at a time: messages that wait do not keep their owner alive. Without
                    // the actor no owner is alive, and nothing is called.
                    guard let actor = self.actor else { return self.drain() }
                    return await self.drain(on: actor)
                }
            }
        case .awaiting(let isolation):
            Task.detached { await self.runTurns { await self.drainAwaiting(on: isolation) } }
        }
    }

    /// Has one turn after the other, and gives the main actor up in between. On it, because it has a thread of
    /// its own: nothing waits for one of the pool.
    @MainActor
    private func runTurnsOnMainActor() async { while drain() != .idle { await Task.yield() } }

    /// Has one turn after the other, and gives the actor and the thread of the pool up in between. Not on the
    /// actor: one that has something else to do would keep the thread.
    @concurrent
    private func runTurns(_ turn: @Sendable () async -> DrainTurn.End) async {
        while true {
            switch await turn() {
            case .idle: return
            // A yield makes one allocation, where a task makes four.
            case .calls: await Task.yield()
            case .time: return schedule()
            }
        }
    }

    private func drain(on actor: isolated any Actor) -> DrainTurn.End { drain() }

    /// Delivers for one turn.
    private func drain() -> DrainTurn.End {
        guard lock.withLock({ state.beginTurn() }) else { return .idle }
        let thread = ThreadReference.current
        thread.pointee.drains += 1
        defer { thread.pointee.drains -= 1 }
        var turn = DrainTurn()
        var isFirst = true
        while true {
            if next == taken.count {
                // The message that started the job is not delayed; many may follow.
                if !isFirst { Self.gather(arrived, beyond: takenCount) }
                guard refill() else { return .idle }
            }
            isFirst = false
            guard next < taken.count else {
                // All that was looked at was stale.
                if let end = turn.endAfterCall() { return endTurn(end) }
                continue
            }
            if let end = deliverRun(&turn, thread) { return endTurn(end) }
        }
    }

    // MARK: Delivering

    /// Delivers for the ticket that is next. Nil unless the turn ends.
    private func deliverRun(_ turn: inout DrainTurn, _ thread: ThreadReference) -> DrainTurn.End? {
        // Retained by its tickets, of which this one is not settled.
        let ticket = taken[next]
        let end = ticket.listener.borrow { listener in
            ticket.borrowMailbox { mailbox -> DrainTurn.End? in
                // Set when the entry was inserted, and kept by it, as the list is by the level.
                guard let level = listener.level else { return nil }
                var frame = level.borrow { PostFrame(list: $0.list) }
                defer { frame.end() }
                guard mailbox.holdOwner(of: listener) else {
                    die(listener, mailbox)
                    return endIfGivenUp(ticket, &turn)
                }
                return frame.lend { frame in
                    frame.pointee.begins(listener)
                    calls(listener.address, thread)
                    return mailbox.takesAll
                        ? deliverBatch(ticket, listener, mailbox, frame, &turn)
                        : deliverOneByOne(ticket, listener, mailbox, frame, &turn)
                }
            }
        }
        calls(0, thread)
        if used == ticket.count {
            next += 1
            used = 0
        }
        if isAwaited {
            settle()
            resumeWaiters()
        }
        return end
    }

    /// Delivers what was taken at once: from an unbounded buffer, of which nothing is dropped.
    private func deliverBatch(
        _ ticket: LaneState.Ticket,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> DrainTurn.End? {
        // Held by the mailbox.
        let owner = mailbox.heldOwner
        while used < ticket.count {
            guard !listener.isCancelled else {
                mailbox.batch.discardAll()
                break
            }
            if mailbox.batch.isEmpty {
                lock.withLock { mailbox.state.takeAll(into: &mailbox.batch) }
                // Ended meanwhile.
                guard !mailbox.batch.isEmpty else { break }
            }
            countUse(of: ticket)
            let (message, envelope) = mailbox.batch.peek()
            mailbox.countDelivered()
            // The slot keeps the envelope until `removeFirst`.
            call(listener, message, owner, frame, envelope?.object)
            mailbox.batch.removeFirst()
            if let end = turn.endAfterCall() { return end }
        }
        return endIfGivenUp(ticket, &turn)
    }

    /// Takes one message at a time, so that a full buffer can drop what waits.
    private func deliverOneByOne(
        _ ticket: LaneState.Ticket,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> DrainTurn.End? {
        let end = mailbox.layout.withTemporary { message -> DrainTurn.End? in
            // Held by the mailbox.
            let owner = mailbox.heldOwner
            while used < ticket.count {
                guard !listener.isCancelled else { break }
                var envelope: Envelope?
                countUse(of: ticket)
                let isIn = lock.withLock { mailbox.state.takeFirst(into: message, &envelope) }
                // Dropped or discarded meanwhile.
                guard isIn else { continue }
                mailbox.countDelivered()
                call(listener, message, owner, frame, envelope)
                mailbox.layout.destroy(message)
                if let end = turn.endAfterCall() { return end }
            }
            return nil
        }
        return end ?? endIfGivenUp(ticket, &turn)
    }

    @inline(__always)
    private func call(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ envelope: Envelope?
    ) {
        guard let envelope else { return listener.run(message, owner, frame) }
        frame.pointee.thrown = nil
        frame.pointee.envelope = envelope
        frame.pointee.list.borrow { $0.run(listener, message, owner, frame, envelope.trace) }
        envelope.tracker?.finish(frame.pointee.outcome(for: listener))
        frame.pointee.envelope = nil
    }

    /// One more message of a ticket is being delivered, or was dropped.
    @inline(__always)
    private func countUse(of ticket: LaneState.Ticket) {
        used += 1
        areUsed(1, of: ticket)
    }

    /// If a ticket has not been used up, the listener has ended, and the rest stands for nothing. To find that
    /// out takes about as long as a call.
    private func endIfGivenUp(_ ticket: LaneState.Ticket, _ turn: inout DrainTurn) -> DrainTurn.End? {
        guard used < ticket.count else { return nil }
        areUsed(Int(ticket.count) - used, of: ticket)
        used = Int(ticket.count)
        return turn.endAfterCall()
    }

    /// The owner was deallocated.
    func die(_ listener: ListenerEntry, _ mailbox: Mailbox) {
        discard(mailbox, inDrain: true)
        if listener.isActive { listener.list?.remove(listener) }
    }

    // MARK: Taking, or going idle

    /// Spins briefly, so that many messages can be taken at once.
    static func gather(_ arrived: borrowing Atomic<Int>, beyond taken: Int) {
        // Polled seldom: each look takes the counter's cache line away from the posters.
        for _ in 0..<looks {
            for _ in 0..<spinsBetweenLooks { channels_spin_hint() }
            if arrived.load(ordering: .relaxed) &- taken >= gathered { return }
        }
    }

    /// Takes what has arrived. False, with the lane idle, if nothing has.
    private func refill() -> Bool {
        releaseOwners()
        var leaving = LaneState.Leaving()
        let hasMore = lock.withLock {
            settleUsed(&leaving)
            takenCount = arrived.load(ordering: .relaxed)
            return state.take(DrainTurn.mostCalls, into: &taken, &leaving)
        }
        leave(leaving)
        return hasMore
    }

    /// Goes idle after all if nothing waits, so that the next post on the actor calls its listeners at once.
    private func endTurn(_ end: DrainTurn.End) -> DrainTurn.End {
        releaseOwners()
        var leaving = LaneState.Leaving()
        let isIdle = lock.withLock {
            settleUsed(&leaving)
            return state.endTurn(holds: taken)
        }
        leave(leaving)
        return isIdle ? .idle : end
    }

    /// Settles what has been used, in the middle of a turn.
    private func settle() {
        releaseOwners()
        var leaving = LaneState.Leaving()
        lock.withLock { settleUsed(&leaving) }
        leave(leaving)
    }

    /// Under the lock.
    private func settleUsed(_ leaving: inout LaneState.Leaving) {
        for index in 0..<next { state.settle(taken[index], count: Int(taken[index].count), &leaving) }
        taken.removeFirst(next)
        next = 0
        guard used > 0 else { return }
        state.settle(taken[0], count: used, &leaving)
        taken[0].count -= UInt32(used)
        used = 0
    }

    /// Gives up the owners held for the calls made. Runs user code, at the end of an owner's life.
    private func releaseOwners() {
        for index in 0..<min(next + 1, taken.count) { taken[index].borrowMailbox { $0.releaseOwner() } }
    }
}
