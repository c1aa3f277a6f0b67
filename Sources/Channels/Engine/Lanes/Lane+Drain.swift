internal import CChannels
internal import Dispatch
internal import Synchronization

// The drain: one job that delivers what waits in the lane, on its actor or queue. Its cycle, `drain()`:
//
// 1. Begin a turn with what the last turn left, or with what is taken now. If nothing, the lane is idle.
// 2. Deliver what was taken, ticket by ticket, for at most 64 calls or a millisecond.
// 3. Gather: wait briefly for more messages, if they come quickly.
// 4. Refill: settle what was used and take more under one lock; then 2 again. If nothing, the lane is idle.
// 5. End the turn, from 2, when it has made as many calls or taken as long as it may. A job follows.
extension Lane {
    /// How often, at most, the drain checks whether enough messages have arrived.
    private static let mostLooks = 16
    /// One to six microseconds, depending on the processor. Each look takes a cache line from the posters.
    private static let spinsBetweenLooks = 128
    /// How many messages must have arrived since the last look for the drain to wait for more.
    private static let many = 8
    /// How many nanoseconds short turns may follow each other before the pool's thread is yielded.
    private static let longestOnThread: UInt64 = 20_000

    /// Starts the drain. Called only if ``LaneState`` says so.
    func schedule() {
        switch target {
        case .queue(let queue):
            // Balanced in the job that finds nothing more to do.
            Unretained(self).retain()
            enqueueJob(on: queue)
        case .mainActor:
            // A job for each turn: a task that yields here resumes by way of the pool, 20 microseconds later.
            let turn: @MainActor @Sendable () -> Void = { if self.drain() != .idle { self.schedule() } }
            // Somebody looks at what it shows.
            Task.detached(priority: .userInitiated, operation: turn)
        case .actor:
            Task.detached {
                await self.runTurns {
                    // Retained for one turn at a time, so that waiting messages do not keep their owner
                    // alive. If the actor is deallocated, so is every owner, and nothing is called.
                    guard let actor = self.actor else { return self.drain() }
                    return await self.drain(on: actor)
                }
            }
        }
    }

    /// Runs turns and releases the actor after each. Yields the thread, for which others wait, after 20
    /// microseconds, however many calls that is. Does not run on the actor, whose other work would keep the
    /// thread.
    @concurrent
    private func runTurns(_ turn: @Sendable () async -> DrainTurn.End) async {
        var start = channels_nanoseconds()
        while true {
            switch await turn() {
            case .idle: return
            case .calls:
                guard channels_nanoseconds() &- start > Self.longestOnThread else { continue }
                // A yield makes one allocation, a task four.
                await Task.yield()
                start = channels_nanoseconds()
            case .time: return schedule()
            }
        }
    }

    private func drain(on actor: isolated any Actor) -> DrainTurn.End { drain() }

    /// Runs a turn. Returns false if another turn follows, in a job of its own.
    func runJob(on queue: DispatchQueue) -> Bool {
        guard drain() != .idle else { return true }
        enqueueJob(on: queue)
        return false
    }

    private func enqueueJob(on queue: DispatchQueue) {
        // Set in the initialiser.
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

    /// Returns false, with the lane idle, if nothing waits.
    private func beginTurn(_ calls: Int) -> Bool {
        guard taken.current == nil else {
            reclaimFromCancellers()
            return true
        }
        gather()
        return lock.withLock { state.beginTurn() && take(calls) }
    }

    /// Makes what the last turn left the drain's alone, see ``discard(_:inDrain:)``.
    private func reclaimFromCancellers() {
        guard !isBetweenTurns.exchange(false, ordering: .acquiring) else { return }
        // A canceller has claimed it, and holds the lock until it is done.
        lock.withLock { isBetweenTurns.store(false, ordering: .relaxed) }
    }

    /// Takes tickets, and all messages of listeners without a limit. Called under the lock.
    private func take(_ calls: Int) -> Bool {
        let hasMore = taken.take(from: &state, calls: calls, arrived: arrived.load(ordering: .relaxed))
        if !hasMore { noteActivity() }
        return hasMore
    }

    /// Delivers for the tickets taken. Returns nil unless the turn ends before they are used up.
    private func deliverTaken(_ turn: inout DrainTurn) -> DrainTurn.End? {
        guard let first = taken.current else { return nil }
        // The entry, once inserted, keeps its level alive, and the level the list.
        let list = first.listener.borrow { $0.knownLevel }.borrow { Unretained($0.list) }
        // Shared by all of them: nothing in it outlasts a call.
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
            beginRun(of: 0)
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
        // First: the owners of former runs are released in it, this one perhaps among them.
        beginRun(of: listener.address)
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
        // If the turn continues and the ticket is not used up, the listener has ended, and the rest is void.
        // Finding that out takes about as long as a call.
        let isGivenUp = end == nil && used < ticket.count
        taken.use(isGivenUp ? ticket.count : used, of: ticket, mailbox)
        return isGivenUp ? turn.endAfterCall() : end
    }

    /// Delivers a batch taken from an unbounded buffer, which drops nothing.
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
                // The listener has ended meanwhile.
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
                // There is none if the listener has ended meanwhile.
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

    /// Calls the listener. Returns who is to be told that the call has ended, once the message is released.
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

    /// Waits for as many messages as the drain takes next, unless a buffer is likely to overflow meanwhile.
    private func gather() {
        let most = min(taken.gathers, smallestBuffer.load(ordering: .relaxed) / 2)
        Self.gather(arrived, beyond: taken.takenCount, most: most)
    }

    /// Spins briefly, until many messages have arrived, to be taken at once, or they arrive slowly.
    static func gather(_ arrived: borrowing Atomic<Int>, beyond taken: Int, most: Int) {
        // As if many had arrived before the first look.
        var seen = arrived.load(ordering: .relaxed) &- many
        for _ in 0..<mostLooks {
            let now = arrived.load(ordering: .relaxed)
            guard now &- taken < most, now &- seen >= many else { return }
            seen = now
            for _ in 0..<spinsBetweenLooks { channels_spin_hint() }
        }
    }

    /// Settles what was used, and takes what has arrived. Returns false, with the lane idle, if nothing has.
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

    /// Ends a turn. Becomes idle if nothing waits, so that the next post on the actor calls its listeners at
    /// once; the next turn delivers what was taken and not used.
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
        // If the lane is idle, the drain's state may already belong to the next drain, on another thread.
        cleanup.run()
        return isIdle ? .idle : end
    }

    /// Ends the run of one listener, and begins that of another, or of none: 0. Tasks that wait for the former go on.
    private func beginRun(of listener: UInt) {
        setCurrent(listener)
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
