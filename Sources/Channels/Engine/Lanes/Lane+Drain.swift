internal import CChannels
internal import Dispatch
internal import Synchronization

// The drain: one job that delivers what waits in the lane, on the lane's actor or queue. The cycle, in `drain()`:
//
// 1. Begin a turn with what the last turn left, or with what is taken now. If there is nothing, the lane is idle.
// 2. Deliver what was taken, ticket by ticket, for at most 64 calls or a millisecond.
// 3. Gather: wait briefly for more messages, if they come quickly.
// 4. Refill: settle what was used and take more, in one critical section; then 2 again. If there is nothing, the lane
//    is idle.
// 5. End the turn, from within 2, when it has reached its limit of calls or time. Another job follows.
extension Lane {
    /// The maximum number of times that the drain checks whether enough messages have arrived.
    private static let mostLooks = 16
    /// How long to spin between looks: one to six microseconds, depending on the processor. Each look takes a cache
    /// line from the posters.
    private static let spinsBetweenLooks = 128
    /// How many messages must have arrived since the last look for the drain to wait for more.
    private static let many = 8
    /// For how many nanoseconds turns may follow each other before the pool's thread is yielded.
    private static let longestOnThread: UInt64 = 20_000

    /// Starts the drain. Called only if ``LaneState`` says so.
    func schedule() {
        switch target {
        case .queue(let queue):
            // Balanced in the job that finds nothing more to do.
            Unretained(self).retain()
            enqueueJob(on: queue)
        case .mainActor:
            // One job per turn: a task that yields here would resume by way of the pool, 20 microseconds later.
            let turn: @MainActor @Sendable () -> Void = { if self.drain() != .idle { self.schedule() } }
            // High priority, because the user sees what the main actor shows.
            Task.detached(priority: .userInitiated, operation: turn)
        case .actor:
            Task.detached {
                await self.runTurns {
                    // Retained for one turn at a time, so that waiting messages do not keep their owner alive. If the
                    // actor was deallocated, there is no owner left either, and no listener is called.
                    guard let actor = self.actor else { return self.drain() }
                    return await self.drain(on: actor)
                }
            }
        }
    }

    /// Runs turns, and releases the actor after each. After 20 microseconds, yields the thread, because other tasks may
    /// wait for it. Does not itself run on the actor, whose other work would then keep the thread.
    @concurrent
    private func runTurns(_ turn: @Sendable () async -> DrainTurn.End) async {
        var start = channels_nanoseconds()
        while true {
            switch await turn() {
            case .idle: return
            case .calls:
                guard channels_nanoseconds() &- start > Self.longestOnThread else { continue }
                // A yield makes one allocation, a new task four.
                await Task.yield()
                start = channels_nanoseconds()
            case .time: return schedule()
            }
        }
    }

    private func drain(on actor: isolated any Actor) -> DrainTurn.End { drain() }

    /// Runs a turn. Returns false if another turn follows, in another job.
    func runJob(on queue: DispatchQueue) -> Bool {
        guard drain() != .idle else { return true }
        enqueueJob(on: queue)
        return false
    }

    private func enqueueJob(on queue: DispatchQueue) {
        // Always there: set in the initializer.
        if let job { queue.async(execute: job) }
    }

    private func drain() -> DrainTurn.End {
        var turn = DrainTurn()
        guard beginTurn(turn.callsLeft) else { return .idle }
        while true {
            if let end = deliverTaken(&turn) { return endTurn(end) }
            gather()
            guard refill(turn.callsLeft) else { return .idle }
        }
    }

    /// Begins a turn. Returns false, with the lane idle, if nothing waits.
    private func beginTurn(_ calls: Int) -> Bool {
        guard taken.current == nil else {
            reclaimFromCancellers()
            return true
        }
        gather()
        return lock.withLock { state.beginTurn() && take(calls) }
    }

    /// Makes the drain the only user of what the last turn left: see ``discard(_:inDrain:)``.
    private func reclaimFromCancellers() {
        guard !isBetweenTurns.exchange(false, ordering: .acquiring) else { return }
        // A thread that cancels has claimed it, and holds the lock until it is done.
        lock.withLock { isBetweenTurns.store(false, ordering: .relaxed) }
    }

    /// Takes tickets, and all messages in the unbounded buffers of their listeners. Called under the lock.
    private func take(_ calls: Int) -> Bool {
        let hasMore = taken.take(from: &state, calls: calls, arrived: arrived.load(ordering: .relaxed))
        if !hasMore { noteActivity() }
        return hasMore
    }

    /// Delivers messages for the tickets taken. Returns why the turn has ended; nil if the tickets were used up first.
    private func deliverTaken(_ turn: inout DrainTurn) -> DrainTurn.End? {
        guard let first = taken.current else { return nil }
        // An inserted entry keeps its level alive, and the level keeps the list alive.
        let list = first.listener.borrow { $0.knownLevel }.borrow { Unretained($0.list) }
        // One frame for all calls: nothing in it outlasts a call.
        var frame = list.borrow { PostFrame($0) }
        defer { frame.end() }
        return frame.lend { frame in
            let thread = ThreadReference.current
            let outer = thread.pointee.drain
            frame.pointee.previous = thread.pointee.top
            thread.pointee.drain = frame
            defer { thread.pointee.drain = outer }
            var end: DrainTurn.End?
            while end == nil, let ticket = taken.current {
                end = ticket.listener.borrow { listener in
                    ticket.mailbox.borrow { deliver(ticket, listener, $0, frame, &turn) }
                }
            }
            beginRun(of: 0, frame)
            return end
        }
    }

    private func deliver(
        _ ticket: LaneState.Ticket,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> DrainTurn.End? {
        // First, because it may release owners held for former runs, among them perhaps this one.
        beginRun(of: listener.address, frame)
        var used = 0
        var end: DrainTurn.End?
        if mailbox.holdOwner(of: listener) {
            frame.pointee.beginDrainedCall(of: listener)
            end =
                mailbox.isUnbounded
                ? deliverBatch(ticket.count, &used, listener, mailbox, frame, &turn)
                : deliverOneByOne(ticket.count, &used, listener, mailbox, frame, &turn)
        } else {
            endOrphan(listener, mailbox)
        }
        // If the turn continues although the ticket is not used up, the listener has ended, and the rest of the ticket
        // is void. Finding that out takes about as long as a call.
        let isGivenUp = end == nil && used < ticket.count
        taken.use(isGivenUp ? ticket.count : used, of: ticket, mailbox)
        return isGivenUp ? turn.endAfterCall() : end
    }

    /// Delivers the batch taken from an unbounded buffer.
    private func deliverBatch(
        _ count: Int,
        _ used: inout Int,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> DrainTurn.End? {
        // Held by the mailbox.
        let owner = mailbox.heldOwner
        while used < count {
            guard !listener.isCancelled else {
                mailbox.batch.discardAll()
                return nil
            }
            if mailbox.batch.isEmpty {
                lock.withLock { mailbox.state.takeAll(into: &mailbox.batch) }
                // Empty if the listener has ended meanwhile.
                guard !mailbox.batch.isEmpty else { return nil }
            }
            used += 1
            let (message, envelope) = mailbox.batch.peek()
            mailbox.countDelivered()
            // The slot keeps the envelope until `removeFirst`.
            let tracker = call(listener, message, owner, frame, envelope?.object)
            mailbox.batch.removeFirst()
            tracker?.finishCall(of: listener)
            if let end = turn.endAfterCall() { return end }
        }
        return nil
    }

    /// Takes one message at a time, so that a full buffer can drop waiting ones.
    private func deliverOneByOne(
        _ count: Int,
        _ used: inout Int,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ frame: FrameReference,
        _ turn: inout DrainTurn
    ) -> DrainTurn.End? {
        mailbox.layout.withTemporary { message in
            // Held by the mailbox.
            let owner = mailbox.heldOwner
            while used < count {
                guard !listener.isCancelled else { return nil }
                var envelope: Envelope?
                // There is no message if the listener has ended meanwhile.
                guard lock.withLock({ mailbox.state.takeFirst(into: message, &envelope) }) else { return nil }
                used += 1
                mailbox.countDelivered()
                let tracker = call(listener, message, owner, frame, envelope)
                mailbox.layout.destroy(message)
                tracker?.finishCall(of: listener)
                if let end = turn.endAfterCall() { return end }
            }
            return nil
        }
    }

    /// Calls the listener. Returns the tracker to notify of the end of the call, once the message is released.
    private func call(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ envelope: Envelope?
    ) -> PostTracker? {
        guard let envelope else {
            listener.run(message, owner, frame)
            return nil
        }
        frame.pointee.envelope = envelope
        listener.run(message, owner, frame, envelope.trace)
        frame.pointee.envelope = nil
        return envelope.tracker
    }

    func endOrphan(_ listener: ListenerEntry, _ mailbox: Mailbox) {
        discard(mailbox, inDrain: true)
        if !listener.hasEnded { listener.list?.remove(listener) }
    }

    /// Waits for as many messages as the drain takes next, but not for so many that a buffer would overflow.
    private func gather() {
        let most = min(taken.gathers, smallestBuffer.load(ordering: .relaxed) / 2)
        Self.gather(arrived, beyond: taken.takenCount, most: most)
    }

    /// Spins briefly, until enough messages have arrived to be taken at once, or until they arrive too slowly.
    static func gather(_ arrived: borrowing Atomic<Int>, beyond taken: Int, most: Int) {
        // Starts as if many had arrived before the first look.
        var seen = arrived.load(ordering: .relaxed) &- many
        for _ in 0..<mostLooks {
            let now = arrived.load(ordering: .relaxed)
            guard now &- taken < most, now &- seen >= many else { return }
            seen = now
            for _ in 0..<spinsBetweenLooks { channels_spin_hint() }
        }
    }

    /// Settles what was used, and takes what has arrived. Returns false, with the lane idle, if nothing has arrived.
    private func refill(_ calls: Int) -> Bool {
        releaseOwners()
        var cleanup = PendingCleanup()
        let hasMore = lock.withLock {
            taken.settle(&cleanup)
            return take(calls)
        }
        cleanup.run()
        return hasMore
    }

    /// Ends a turn. If nothing waits, the lane becomes idle, so that the next post on the actor calls its listeners at
    /// once. Otherwise the next turn delivers what was taken but not used.
    private func endTurn(_ end: DrainTurn.End) -> DrainTurn.End {
        taken.endTurn(end)
        releaseOwners()
        if taken.isStillBusyWithOne {
            isBetweenTurns.store(true, ordering: .releasing)
            return end
        }
        var cleanup = PendingCleanup()
        let isIdle = lock.withLock {
            taken.settle(&cleanup)
            guard taken.current == nil else {
                isBetweenTurns.store(true, ordering: .relaxed)
                return false
            }
            guard state.endTurn() else { return false }
            noteActivity()
            taken.becomeIdle()
            return true
        }
        // Uses no state of the drain: if the lane is idle, that state may already belong to the next drain, on another
        // thread.
        cleanup.run()
        return isIdle ? .idle : end
    }

    /// Ends the run of one listener and begins that of another (0 for none). Resumes the tasks that wait for the
    /// former.
    private func beginRun(of listener: UInt, _ frame: FrameReference) {
        setCurrent(listener)
        frame.pointee.listener = nil
        if isAwaited { settleForWaiters() }
    }

    /// Settles what was used, in the middle of a turn, and resumes tasks whose call has ended.
    @inline(never)
    private func settleForWaiters() {
        releaseOwners()
        var cleanup = PendingCleanup()
        lock.withLock { taken.settle(&cleanup) }
        cleanup.run()
        resumeWaiters()
    }

    /// Releases the owners held for the calls made. Runs user code: deinits of owners.
    private func releaseOwners() {
        for listener in taken.unsettled { listener.borrow { $0.knownMailbox }.borrow { $0.releaseOwner() } }
    }
}
