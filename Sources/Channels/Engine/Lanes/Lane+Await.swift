internal import CChannels
internal import Synchronization

/// The drain of an async listener, which has a lane of its own: one call is awaited after another.
extension Lane {
    func drainAwaiting(on isolation: AsyncIsolation) async -> DrainTurn.End {
        let listener = lock.withLock { () -> ListenerEntry? in
            guard state.beginTurn() else { return nil }
            guard let listener = state.next else {
                _ = state.endTurn()
                return nil
            }
            return listener.object
        }
        guard let listener, let mailbox = listener.mailbox else { return .idle }
        // Reused for one call after another.
        let place = mailbox.layout.allocate()
        defer { place.deallocate() }
        var turn = DrainTurn()
        while true {
            switch isolation {
            case .closure(let actor):
                guard await deliverNext(listener, mailbox, place, on: actor) else { return .idle }
            case .owner:
                let owner = listener.owner as? any Actor
                if owner == nil { endOrphan(listener, mailbox) }
                guard await deliverNext(listener, mailbox, place, on: owner) else { return .idle }
            }
            guard let end = turn.endAfterCall() else { continue }
            return endTurn(end)
        }
    }

    private func endTurn(_ end: DrainTurn.End) -> DrainTurn.End {
        var cleanup = PendingCleanup()
        let isIdle = lock.withLock {
            drainState.settle(&cleanup)
            return state.endTurn()
        }
        cleanup.run()
        return isIdle ? .idle : end
    }

    /// Takes a message and awaits the closure, without suspending in between. So a `cancel` on the closure's
    /// isolation comes either before the message is taken or after the call has begun. Returns false, with
    /// the lane idle, if there are no more messages.
    private func deliverNext(
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ message: MessageAddress,
        on isolation: isolated (any Actor)?
    ) async -> Bool {
        setCurrent(listener.address)
        var envelope: Envelope?
        guard take(into: message, &envelope, mailbox) else {
            if isAwaited { resumeWaiters() }
            return false
        }
        defer {
            mailbox.layout.destroy(message)
            callHasEnded()
        }
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner else {
            envelope?.tracker?.finish(.discarded)
            endOrphan(listener, mailbox)
            return true
        }
        mailbox.countDelivered()
        // One chain for each call: tasks made by the closure inherit it and may outlive the call.
        let chain = ListenerChain(listener, upstream: envelope?.tracker?.chain)
        let outcome = await ListenerChain.$current.withValue(chain) {
            // Captured, so that the closure has this isolation and does not leave the turn.
            _ = isolation
            guard let trace = envelope?.trace else {
                return await self.outcome(message, owner, envelope, listener, mailbox)
            }
            var outcome = PostTracker.Outcome.discarded
            await trace.deliver(to: listener, isolation: isolation) {
                outcome = await self.outcome(message, owner, envelope, listener, mailbox)
            }
            return outcome
        }
        chain.callHasEnded()
        envelope?.tracker?.finish(outcome)
        return true
    }

    private func outcome(
        _ message: MessageAddress,
        _ owner: AnyObject?,
        _ envelope: Envelope?,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox
    ) async -> PostTracker.Outcome {
        // Loaded only for the call, so that it is freed before tasks that wait for the call resume.
        guard let list = listener.list, let asyncCall = mailbox.asyncCall else { return .discarded }
        do {
            try await asyncCall(message, owner, PostContext(envelope, list))
            return .completed
        } catch {
            let reported = error as? ReportedFailure
            if reported == nil {
                list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
            } else if list.isMetered {
                listener.ensureCounters().borrow { $0.countFailure() }
            }
            return .failed(DeliveryFailure(reported?.error ?? error, listener, owner))
        }
    }

    private func callHasEnded() {
        setCurrent(0)
        guard isAwaited else { return }
        var cleanup = PendingCleanup()
        lock.withLock { drainState.settle(&cleanup) }
        cleanup.run()
        resumeWaiters()
    }

    /// Moves the first message out. Returns false, with the lane idle, if there is none.
    private func take(into place: MessageAddress, _ envelope: inout Envelope?, _ mailbox: Mailbox) -> Bool {
        var cleanup = PendingCleanup()
        var hasMessage = false
        var hasTicket = true
        while hasTicket, !hasMessage {
            lock.withLock {
                drainState.settle(&cleanup)
                hasTicket = drainState.take(from: &state, calls: 1, arrived: arrived.load(ordering: .relaxed))
                guard let ticket = drainState.current else {
                    // Under the lock: the next drain may begin as soon as it is released.
                    setCurrent(0)
                    return
                }
                drainState.use(ticket.count, of: ticket, mailbox)
                hasMessage = mailbox.state.takeFirst(into: place, &envelope)
            }
        }
        cleanup.run()
        return hasMessage
    }
}
