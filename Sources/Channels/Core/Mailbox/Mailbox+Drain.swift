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
            queue.async { if self.drain(listener) { self.schedule(listener) } }
        // A new task for each turn, not a yield: an actor that has something to do keeps its thread of the pool.
        case .actor(let actor):
            Task.detached { if await self.drain(listener, on: actor) { self.schedule(listener) } }
        case .owner:
            Task.detached {
                // Held for one turn at a time: messages that wait do not keep their owner alive.
                guard let owner = listener.owner as? any Actor else { return self.goIdle(listener, isDead: true) }
                if await self.drain(listener, on: owner) { self.schedule(listener) }
            }
        case .async(let isolation):
            Task.detached { if await self.drainAwaiting(listener, on: isolation) { self.schedule(listener) } }
        }
    }

    /// Delivers on the calling thread. The caller has the listener's isolation, or it has none, and `phase`
    /// is scheduled.
    func drainInline(_ listener: ListenerEntry) {
        while drain(listener) {}
    }

    private func drain(_ listener: ListenerEntry, on actor: isolated any Actor) -> Bool {
        drain(listener)
    }

    /// Delivers until nothing waits. True, with `phase` scheduled, where others should have a turn first.
    func drain(_ listener: ListenerEntry) -> Bool {
        let isMine = lock.withLock {
            guard phase == .scheduled else { return false }
            phase = .draining
            hasTaken = false
            return true
        }
        guard isMine else { return false }
        guard deliverTurn(listener) else { return false }
        lock.withLock { phase = .scheduled }
        return true
    }

    /// Delivers for one turn. False, with `phase` idle, where there is no more.
    private func deliverTurn(_ listener: ListenerEntry) -> Bool {
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner, let list = listener.list else {
            goIdle(listener, isDead: true)
            return false
        }
        var frame = PostFrame(list: list)
        let thread = ThreadReference.current
        thread.pointee.drains += 1
        defer { thread.pointee.drains -= 1 }
        let hasMore = frame.lend { frame in
            policy.kind == .unbounded ? deliverBatches(listener, owner, frame) : deliverOneByOne(listener, owner, frame)
        }
        frame.end()
        withExtendedLifetime(owner) {}
        return hasMore
    }

    /// Takes everything that waits at once: for unbounded buffers, from which nothing is dropped.
    private func deliverBatches(_ listener: ListenerEntry, _ owner: AnyObject?, _ frame: FrameReference) -> Bool {
        // `deliverTurn` holds it.
        let reference = owner.map { OwnerReference($0) }
        frame.pointee.begins(listener)
        var turn = DrainTurn()
        repeat {
            if batch.isEmpty, !refill(listener) { return false }
            guard !listener.isCancelled else {
                batch.discardAll()
                goIdle(listener, isDead: true)
                return false
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
        } while !turn.endsAfterCall()
        return true
    }

    /// Takes one message at a time, so that a full buffer can drop what waits.
    private func deliverOneByOne(_ listener: ListenerEntry, _ owner: AnyObject?, _ frame: FrameReference) -> Bool {
        // `deliverTurn` holds it.
        let reference = owner.map { OwnerReference($0) }
        return layout.withTemporary { message in
            var turn = DrainTurn()
            repeat {
                var envelope: Envelope?
                guard take(into: message, &envelope, listener) else { return false }
                delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
                call(listener, message, reference, frame, envelope)
                layout.destroy(message)
            } while !turn.endsAfterCall()
            return true
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

    /// Awaits the closure for one message after the other. True, with `phase` scheduled, where others should
    /// have a turn first.
    private func drainAwaiting(_ listener: ListenerEntry, on isolation: AsyncIsolation) async -> Bool {
        lock.withLock { phase = .draining }
        // One call after the other uses the memory.
        let place = layout.allocate()
        defer { place.deallocate() }
        var turn = DrainTurn()
        repeat {
            switch isolation {
            case .closure(let actor):
                guard await deliverNext(listener, place, on: actor) else { return false }
            case .owner:
                guard let owner = listener.owner as? any Actor else {
                    goIdle(listener, isDead: true)
                    return false
                }
                guard await deliverNext(listener, place, on: owner) else { return false }
            }
        } while !turn.endsAfterCall()
        lock.withLock { phase = .scheduled }
        return true
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
    private func goIdle(_ listener: ListenerEntry, isDead: Bool) {
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
