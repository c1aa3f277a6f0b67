internal import CChannels
internal import Dispatch
internal import Synchronization

/// The drain: one job that delivers what waits in the lane, on its actor or queue.
extension Lane {
    /// How many messages the drain takes at once when it is behind, and how many it waits for. Taking many at a time
    /// keeps the drain and the posters from contending for the lock and for the cache lines that both write.
    static let gathered = 256
    /// How often it looks, at most, whether so many have come.
    private static let mostLooks = 16
    /// One or two microseconds on an AMD processor, and up to six where a pause takes longer. Each look takes a
    /// cache line away from the posters.
    private static let spinsBetweenLooks = 128
    /// How many must have come since the last look for the drain to wait for more.
    private static let many = 8
    /// What lies deeper costs no more, see ``FanOut``.
    private static let deepest: UInt16 = 15
    /// How long, in nanoseconds, short turns may follow each other on one thread of the pool before it is yielded.
    private static let longestOnThread: UInt64 = 20_000

    /// Starts the drain. The caller has been told to by ``LaneState``.
    func schedule() {
        switch target {
        case .queue(let queue):
            // Balanced in the job that finds nothing more to do.
            Unretained(self).retain()
            enqueueJob(on: queue)
        case .mainActor:
            // A job for each turn: what goes on after a yield comes by way of the pool, 20 microseconds later.
            let turn: @MainActor @Sendable () -> Void = { if self.drain() != .idle { self.schedule() } }
            Task.detached(operation: turn)
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

    /// Runs one turn after another. It gives up the actor after each, and the pool's thread once 20 microseconds
    /// have passed, so that how long others wait for the thread does not depend on the number of calls. It does not
    /// run on the actor itself: an actor with other work would keep the thread.
    @concurrent
    private func runTurns(_ turn: @Sendable () async -> DrainTurn.End) async {
        var start = channels_nanoseconds()
        while true {
            switch await turn() {
            case .idle: return
            case .calls:
                guard channels_nanoseconds() - start > Self.longestOnThread else { continue }
                // A yield makes one allocation, where a task makes four.
                await Task.yield()
                start = channels_nanoseconds()
            case .time: return schedule()
            }
        }
    }

    private func drain(on actor: isolated any Actor) -> DrainTurn.End { drain() }

    /// Has a turn. False if there is to be another, in a job of its own.
    func runJob(on queue: DispatchQueue) -> Bool {
        guard drain() != .idle else { return true }
        enqueueJob(on: queue)
        return false
    }

    private func enqueueJob(on queue: DispatchQueue) {
        // Set in the initialiser.
        if let job { queue.async(execute: job) }
    }

    /// Delivers for one turn.
    private func drain() -> DrainTurn.End {
        let thread = ThreadReference.current
        thread.pointee.drains += 1
        defer { thread.pointee.drains -= 1 }
        var turn = DrainTurn()
        if taken.isEmpty {
            guard beginTurn(turn.callsLeft) else { return .idle }
        } else {
            takeBackFromCancellers()
        }
        while true {
            let end = next < taken.count ? deliverTaken(&turn, thread) : turn.endAfterCall()
            if let end { return endTurn(end) }
            guard next == taken.count else { continue }
            gather()
            guard refill(turn.callsLeft) else { return .idle }
        }
    }

    // MARK: Delivering

    /// Delivers for the tickets taken. Nil unless the turn ends before they are used up.
    private func deliverTaken(_ turn: inout DrainTurn, _ thread: ThreadReference) -> DrainTurn.End? {
        let outside = (thread.pointee.lane, thread.pointee.laneDepth)
        // Alive as long as its drain runs.
        thread.pointee.lane = Unretained(self)
        defer { (thread.pointee.lane, thread.pointee.laneDepth) = outside }
        // Set when the entry was inserted, and kept by it, as the list is by the level.
        let list = taken[next].listener.borrow { $0.certainLevel }.borrow { Unretained($0.list) }
        // One for all of them: nothing in it outlasts a call.
        var frame = list.borrow { PostFrame(list: $0) }
        defer { frame.end() }
        return frame.lend { frame in
            var end: DrainTurn.End?
            while next < taken.count, end == nil {
                let ticket = taken[next]
                end = ticket.listener.borrow { listener in
                    ticket.mailbox.borrow { deliver(ticket, listener, $0, frame, &turn, thread) }
                }
            }
            setCurrent(0, thread)
            if isAwaited { settleForWaiters() }
            return end
        }
    }

    /// Delivers for the ticket that is next.
    @inline(__always)
    private func deliver(
        _ ticket: LaneState.Ticket,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn,
        _ thread: ThreadReference
    ) -> DrainTurn.End? {
        thread.pointee.laneDepth = min(ticket.depth & ~LaneState.free, Self.deepest) + 1
        setCurrent(listener.address, thread)
        if isAwaited {
            setCurrent(0, thread)
            settleForWaiters()
            setCurrent(listener.address, thread)
        }
        guard mailbox.holdOwner(of: listener) else {
            setCurrent(0, thread)
            endOrphan(listener, mailbox)
            noteUsed(Int(ticket.count), of: ticket, mailbox)
            advance(by: Int(ticket.count), of: ticket, mailbox)
            return turn.endAfterCall()
        }
        frame.pointee.beginDrainedCall(of: listener)
        let used: Int
        let end: DrainTurn.End?
        if mailbox.takesAll {
            (used, end) = deliverBatch(ticket, listener, mailbox, frame, &turn)
        } else {
            (used, end) = deliverOneByOne(ticket, listener, mailbox, frame, &turn)
        }
        // If it has not been used up although the turn goes on, the listener has ended, and the rest stands for
        // nothing. To find that out takes about as long as a call.
        let isGivenUp = end == nil && used < ticket.count
        if isGivenUp { noteUsed(Int(ticket.count) - used, of: ticket, mailbox) }
        advance(by: isGivenUp ? Int(ticket.count) : used, of: ticket, mailbox)
        return isGivenUp ? turn.endAfterCall() : end
    }

    /// So many messages of the ticket that is next have been delivered, or have gone. To be settled later.
    @inline(__always)
    private func advance(by count: Int, of ticket: LaneState.Ticket, _ mailbox: Mailbox) {
        if mailbox.used == 0 { called.append(ticket.listener) }
        mailbox.used += count
        if count == ticket.count { next += 1 } else { taken[next].removeFirst(count) }
    }

    /// Delivers what was taken at once: from an unbounded buffer, of which nothing is dropped.
    ///
    /// - Returns: How many messages of the ticket have been delivered.
    @inline(__always)
    private func deliverBatch(
        _ ticket: LaneState.Ticket,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> (used: Int, end: DrainTurn.End?) {
        // Held by the mailbox.
        let owner = mailbox.heldOwner
        var used = 0
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
            used += 1
            noteUsed(1, of: ticket, mailbox)
            let (message, envelope) = mailbox.batch.peek()
            mailbox.countDelivered()
            // The slot keeps the envelope until `removeFirst`.
            call(listener, message, owner, frame, envelope?.object)
            mailbox.batch.removeFirst()
            if let end = turn.endAfterCall() { return (used, end) }
        }
        return (used, nil)
    }

    /// Takes one message at a time, so that a full buffer can drop what waits.
    ///
    /// - Returns: How many messages of the ticket have been delivered, or dropped.
    @inline(never)
    private func deliverOneByOne(
        _ ticket: LaneState.Ticket,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> (used: Int, end: DrainTurn.End?) {
        mailbox.layout.withTemporary { message in
            // Held by the mailbox.
            let owner = mailbox.heldOwner
            var used = 0
            while used < ticket.count {
                guard !listener.isCancelled else { break }
                var envelope: Envelope?
                let numbers = ticket.numbers.dropFirst(used)
                let taken = lock.withLock { mailbox.state.takeFirst(of: numbers, into: message, &envelope) }
                used += taken.used
                noteUsed(taken.used, of: ticket, mailbox)
                // Dropped or discarded meanwhile.
                guard taken.hasMessage else { break }
                mailbox.countDelivered()
                call(listener, message, owner, frame, envelope)
                mailbox.layout.destroy(message)
                if let end = turn.endAfterCall() { return (used, end) }
            }
            return (used, nil)
        }
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
        envelope.tracker?.finish(frame.pointee.outcome(for: listener), of: listener)
        frame.pointee.envelope = nil
    }

    /// The owner was deallocated.
    func endOrphan(_ listener: ListenerEntry, _ mailbox: Mailbox) {
        discard(mailbox, inDrain: true)
        if !listener.hasEnded { listener.list?.remove(listener) }
    }

    // MARK: Taking, or going idle

    /// A turn begins with what the one before has left: from here on it is the drain's alone, see `discard`.
    private func takeBackFromCancellers() {
        guard !isBetweenTurns.exchange(false, ordering: .acquiring) else { return }
        // A canceller has claimed it, and holds the lock until it is done.
        lock.withLock { isBetweenTurns.store(false, ordering: .relaxed) }
    }

    /// Waits for as many messages as the drain takes next, if no buffer of the lane is likely to overflow meanwhile.
    private func gather() {
        let most = isBehind ? Self.gathered : DrainTurn.mostCalls
        Self.gather(arrived, beyond: takenCount, most: min(most, smallestBuffer.load(ordering: .relaxed) / 2))
    }

    /// Spins briefly, so that many messages can be taken at once: until so many have come, or they come slowly.
    static func gather(_ arrived: borrowing Atomic<Int>, beyond taken: Int, most: Int) {
        // As if many had come before the first look.
        var seen = arrived.load(ordering: .relaxed) &- many
        for _ in 0..<mostLooks {
            let now = arrived.load(ordering: .relaxed)
            guard now &- taken < most, now &- seen >= many else { return }
            seen = now
            for _ in 0..<spinsBetweenLooks { channels_spin_hint() }
        }
    }

    /// Takes what waits, for so many calls, or more if the lane is behind. False, with the lane idle,
    /// if nothing waits.
    private func beginTurn(_ calls: Int) -> Bool {
        // The message that started the job is not delayed; many may follow.
        if goesOn { gather() }
        var leaving = LaneState.Leaving()
        let hasMore = lock.withLock { state.beginTurn() && take(calls, &leaving) }
        leave(leaving)
        return hasMore
    }

    /// Takes what has arrived, for so many calls, or more if the lane is behind. False, with the lane
    /// idle, if nothing has.
    private func refill(_ calls: Int) -> Bool {
        taken.removeAll(keepingCapacity: true)
        next = 0
        releaseOwners()
        var leaving = LaneState.Leaving()
        let hasMore = lock.withLock {
            settleCalled(&leaving)
            return take(calls, &leaving)
        }
        leave(leaving)
        return hasMore
    }

    /// Under the lock.
    private func take(_ calls: Int, _ leaving: inout LaneState.Leaving) -> Bool {
        let hasMore = state.take(isBehind ? Self.gathered : calls, into: &taken, &leaving)
        takenCount = arrived.load(ordering: .relaxed) - state.count
        if state.fanOut.isExhausted != isExhausted {
            isExhausted = !isExhausted
            refused = 0
        }
        goesOn = hasMore
        isBehind = isBehind && hasMore
        return hasMore
    }

    /// Goes idle after all if nothing waits, so that the next post on the actor calls its listeners at once. What
    /// has been taken and not used is the next turn's.
    private func endTurn(_ end: DrainTurn.End) -> DrainTurn.End {
        taken.removeFirst(next)
        next = 0
        isBehind = end == .calls
        releaseOwners()
        if isStillBusyWithOne {
            isBetweenTurns.store(true, ordering: .releasing)
            return end
        }
        var leaving = LaneState.Leaving()
        let isIdle = lock.withLock {
            settleCalled(&leaving)
            guard taken.isEmpty else {
                isBetweenTurns.store(true, ordering: .relaxed)
                return false
            }
            goesOn = !state.endTurn()
            isBehind = isBehind && goesOn
            return !goesOn
        }
        // If the lane is idle, the drain's fields may belong to the next drain, on another thread, from here on.
        leave(leaving)
        return isIdle ? .idle : end
    }

    /// Whether the one listener that was called has more to hear of what was taken: then nothing has changed for
    /// those who post, and the turn ends without the lock.
    private var isStillBusyWithOne: Bool {
        guard let ticket = taken.first else { return false }
        return called.allSatisfy { $0 == ticket.listener }
    }

    /// Settles what has been used, in the middle of a turn, and resumes those who wait for the end of a call.
    private func settleForWaiters() {
        releaseOwners()
        var leaving = LaneState.Leaving()
        lock.withLock { settleCalled(&leaving) }
        leave(leaving)
        resumeWaiters()
    }

    /// Under the lock.
    private func settleCalled(_ leaving: inout LaneState.Leaving) {
        for listener in called {
            listener.borrow { $0.certainMailbox }.borrow {
                state.settle(listener, count: $0.used, &leaving)
                $0.used = 0
            }
        }
        called.removeAll(keepingCapacity: true)
    }

    /// Gives up the owners held for the calls made. Runs user code, at the end of an owner's life.
    private func releaseOwners() {
        for listener in called { listener.borrow { $0.certainMailbox }.borrow { $0.releaseOwner() } }
    }
}
