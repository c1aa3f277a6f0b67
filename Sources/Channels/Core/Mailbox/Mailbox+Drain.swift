internal import CChannels
internal import Dispatch
internal import Synchronization

/// The drain: one job that delivers what waits, on the listener's own isolation.
extension Mailbox {
    /// How often an emptied mailbox is looked at before the drain takes what has come, or ends if nothing
    /// has.
    private static let looks = 2
    /// About a microsecond: less than a new job costs.
    private static let spinsBetweenLooks = 48
    /// How many messages end the polling early. One swap takes many, so that posters and the drain seldom
    /// contend for the lock.
    private static let gathered = 32

    /// Starts the one drain job. The caller has set `phase` to scheduled.
    func schedule(_ listener: ListenerEntry) {
        switch target {
        case .direct, .responder, .consumer: break
        case .inline: drainInline(listener)
        case .queue(let queue):
            queue.async { if self.drain(listener) != .idle { self.schedule(listener) } }
        case .actor(let actor):
            Task.detached { await self.runTurns(listener) { await self.drain(listener, on: actor) } }
        case .owner:
            Task.detached {
                await self.runTurns(listener) {
                    // Held for one turn at a time: messages that wait do not keep their owner alive.
                    guard let owner = listener.owner as? any Actor else { return self.goIdle(listener, isDead: true) }
                    return await self.drain(listener, on: owner)
                }
            }
        case .async(let isolation):
            Task.detached { await self.runTurns(listener) { await self.drainAwaiting(listener, on: isolation) } }
        }
    }

    /// Delivers on the calling thread. The caller has the listener's isolation, or it has none, and `phase`
    /// is scheduled.
    func drainInline(_ listener: ListenerEntry) { while drain(listener) != .idle {} }

    /// Has one turn after the other, and gives the actor and the thread of the pool up in between. Not on the
    /// actor: one that has something else to do would keep the thread.
    @concurrent
    private func runTurns(_ listener: ListenerEntry, _ turn: @Sendable () async -> DrainTurn.End) async {
        while true {
            switch await turn() {
            case .idle: return
            // A yield makes one allocation, where a task makes four.
            case .calls: await Task.yield()
            case .time: return schedule(listener)
            }
        }
    }

    private func drain(_ listener: ListenerEntry, on actor: isolated any Actor) -> DrainTurn.End {
        drain(listener)
    }

    /// Delivers for one turn. Unless it ends because nothing waits, `phase` is scheduled.
    func drain(_ listener: ListenerEntry) -> DrainTurn.End {
        let isMine = lock.withLock {
            guard phase == .scheduled else { return false }
            phase = .draining
            hasTaken = false
            return true
        }
        guard isMine else { return .idle }
        let end = deliverTurn(listener)
        return end == .idle ? .idle : endTurn(listener, end)
    }

    /// Goes idle after all if nothing waits, so that the next post on the listener's actor calls it at once.
    /// Otherwise `phase` is scheduled.
    private func endTurn(_ listener: ListenerEntry, _ end: DrainTurn.End) -> DrainTurn.End {
        var leaving = Leaving()
        let isIdle = lock.withLock {
            phase = .scheduled
            guard batch.isEmpty, incoming.isEmpty else { return false }
            becomeIdle(&leaving)
            return true
        }
        leaving.leave(listener)
        return isIdle ? .idle : end
    }

    private func deliverTurn(_ listener: ListenerEntry) -> DrainTurn.End {
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner, let list = listener.list else {
            return goIdle(listener, isDead: true)
        }
        var frame = PostFrame(list: list)
        let thread = ThreadReference.current
        thread.pointee.drains += 1
        defer { thread.pointee.drains -= 1 }
        let end = frame.lend { frame in
            policy.kind == .unbounded ? deliverBatches(listener, owner, frame) : deliverOneByOne(listener, owner, frame)
        }
        frame.end()
        withExtendedLifetime(owner) {}
        return end
    }

    /// Takes everything that waits at once: for unbounded buffers, from which nothing is dropped.
    private func deliverBatches(
        _ listener: ListenerEntry,
        _ owner: AnyObject?,
        _ frame: FrameReference
    ) -> DrainTurn.End {
        // `deliverTurn` holds it.
        let reference = owner.map { OwnerReference($0) }
        frame.pointee.begins(listener)
        var turn = DrainTurn()
        while true {
            if batch.isEmpty, !refill(listener) { return .idle }
            guard !listener.isCancelled else {
                batch.discardAll()
                return goIdle(listener, isDead: true)
            }
            let (message, envelope) = batch.peek()
            delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
            if let envelope {
                // The slot keeps it until `removeFirst`.
                call(listener, message, reference, frame, envelope.object)
            } else {
                listener.run(message, reference, frame)
            }
            batch.removeFirst()
            if let end = turn.endAfterCall() { return end }
        }
    }

    /// Takes one message at a time, so that a full buffer can drop what waits.
    private func deliverOneByOne(
        _ listener: ListenerEntry,
        _ owner: AnyObject?,
        _ frame: FrameReference
    ) -> DrainTurn.End {
        // `deliverTurn` holds it.
        let reference = owner.map { OwnerReference($0) }
        return layout.withTemporary { message in
            var turn = DrainTurn()
            while true {
                var envelope: Envelope?
                guard take(into: message, &envelope, listener) else { return .idle }
                delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
                call(listener, message, reference, frame, envelope)
                layout.destroy(message)
                if let end = turn.endAfterCall() { return end }
            }
        }
    }

    private func call(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ envelope: Envelope?
    ) {
        frame.pointee.begins(listener)
        frame.pointee.thrown = nil
        frame.pointee.envelope = envelope
        listener.run(message, owner, frame)
        envelope?.tracker?.finish(frame.pointee.outcome(for: listener))
        frame.pointee.envelope = nil
    }

    /// Awaits the closure for one message after the other, for one turn. Unless it ends because nothing
    /// waits, `phase` is scheduled.
    private func drainAwaiting(_ listener: ListenerEntry, on isolation: AsyncIsolation) async -> DrainTurn.End {
        lock.withLock { phase = .draining }
        // One call after the other uses the memory.
        let place = layout.allocate()
        defer { place.deallocate() }
        var turn = DrainTurn()
        while true {
            switch isolation {
            case .closure(let actor):
                guard await deliverNext(listener, place, on: actor) else { return .idle }
            case .owner:
                guard let owner = listener.owner as? any Actor else { return goIdle(listener, isDead: true) }
                guard await deliverNext(listener, place, on: owner) else { return .idle }
            }
            guard let end = turn.endAfterCall() else { continue }
            return endTurn(listener, end)
        }
    }

    /// Takes a message and awaits the closure for it, without suspending in between, so that a `cancel` on
    /// the closure's isolation comes either before the message is taken or after the call has begun. False,
    /// with `phase` idle, if there are no more.
    private func deliverNext(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        on isolation: isolated (any Actor)?
    ) async -> Bool {
        var envelope: Envelope?
        guard take(into: message, &envelope, listener) else { return false }
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner else {
            layout.destroy(message)
            envelope?.tracker?.finish(.discarded)
            goIdle(listener, isDead: true)
            return false
        }
        delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        // A task made by the closure inherits the chain, also beyond the call, hence one for each.
        let chain = ListenerChain(listener, upstream: envelope?.tracker?.chain)
        let outcome = await ListenerChain.$current.withValue(chain) {
            // A closure has the isolation of a parameter that it captures; without, it would leave this turn.
            _ = isolation
            return await self.outcome(message, owner, envelope, listener)
        }
        chain.callHasEnded()
        layout.destroy(message)
        envelope?.tracker?.finish(outcome)
        return true
    }

    private func outcome(
        _ message: MessageAddress,
        _ owner: AnyObject?,
        _ envelope: Envelope?,
        _ listener: ListenerEntry
    ) async -> PostTracker.Outcome {
        // Loaded for the call only, so that it is freed before tasks that wait for the drain resume.
        guard let list = listener.list, let asyncCall else { return .discarded }
        do {
            try await asyncCall(message, owner, PostContext(envelope, list))
            return .completed
        } catch {
            list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
            return .failed(DeliveryFailure(error, listener, owner))
        }
    }

    // MARK: Taking, or going idle

    /// Spins briefly, so that many messages can be taken at once.
    func gather() {
        // Polled seldom: each look takes the counter's cache line away from the posters.
        for _ in 0..<Self.looks {
            for _ in 0..<Self.spinsBetweenLooks { channels_spin_hint() }
            if posted.load(ordering: .relaxed) &- delivered.load(ordering: .relaxed) >= Self.gathered { return }
        }
    }

    /// Swaps in what has arrived since. False, with `phase` idle, if nothing has.
    private func refill(_ listener: ListenerEntry) -> Bool {
        // The message that started the job is not delayed; many may follow.
        if hasTaken { gather() }
        hasTaken = true
        var leaving = Leaving()
        let hasMore = lock.withLock {
            guard !incoming.isEmpty else {
                becomeIdle(&leaving)
                return false
            }
            swap(&incoming, &batch)
            return true
        }
        leaving.leave(listener)
        return hasMore
    }

    /// Moves the first message out. False, with `phase` idle, if there is none.
    private func take(into message: MessageAddress, _ envelope: inout Envelope?, _ listener: ListenerEntry) -> Bool {
        var leaving = Leaving()
        let hasMore = lock.withLock {
            guard !incoming.isEmpty else {
                becomeIdle(&leaving)
                return false
            }
            envelope = incoming.moveFirst(to: message)
            return true
        }
        leaving.leave(listener)
        return hasMore
    }

    /// Ends the drain and discards what waits, if the listener is dead.
    @discardableResult
    private func goIdle(_ listener: ListenerEntry, isDead: Bool) -> DrainTurn.End {
        // The drain's own, left over if the owner was deallocated between two runs.
        if isDead { batch.discardAll() }
        var leaving = Leaving()
        var discarded: MessageQueue?
        lock.withLock {
            if isDead {
                self.isDead.store(true, ordering: .sequentiallyConsistent)
                discarded = incoming.takeAll()
            }
            becomeIdle(&leaving)
        }
        discarded?.discardAll()
        leaving.leave(listener)
        if listener.isActive { listener.list?.remove(listener) }
        return .idle
    }

    /// What a drain that has ended must do without the lock.
    private struct Leaving {
        var waiters: [CheckedContinuation<Void, Never>] = []
        var freesBody = false

        func leave(_ listener: ListenerEntry) {
            if freesBody { listener.freeBody() }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Under the lock.
    private func becomeIdle(_ leaving: inout Leaving) {
        phase = .idle
        incoming.giveBack()
        batch.giveBack()
        isBusy.store(false, ordering: .releasing)
        swap(&leaving.waiters, &waiters)
        leaving.freesBody = hasLeft
    }
}
