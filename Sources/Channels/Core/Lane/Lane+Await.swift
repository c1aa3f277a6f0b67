internal import CChannels
internal import Synchronization

/// The drain of an async listener, whose lane is its own: one call is awaited after the other.
extension Lane {
    /// Delivers for one turn.
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
        // One call after the other uses the memory.
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
        var leaving = LaneState.Leaving()
        let isIdle = lock.withLock {
            settleTaken(&leaving)
            return state.endTurn()
        }
        leave(leaving)
        return isIdle ? .idle : end
    }

    /// Takes a message and awaits the closure for it, without suspending in between, so that a `cancel` on
    /// the closure's isolation comes either before the message is taken or after the call has begun. False,
    /// with the lane idle, if there are no more.
    private func deliverNext(
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ message: MessageAddress,
        on isolation: isolated (any Actor)?
    ) async -> Bool {
        setCurrent(listener.address, .current)
        defer { callHasEnded() }
        var envelope: Envelope?
        guard take(into: message, &envelope, mailbox) else { return false }
        defer { mailbox.layout.destroy(message) }
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner else {
            envelope?.tracker?.finish(.discarded)
            endOrphan(listener, mailbox)
            return true
        }
        mailbox.countDelivered()
        // A task made by the closure inherits the chain, also beyond the call, hence one for each.
        let chain = ListenerChain(listener, upstream: envelope?.tracker?.chain)
        let outcome = await ListenerChain.$current.withValue(chain) {
            // A closure has the isolation of a parameter that it captures; without, it would leave this turn.
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
        envelope?.tracker?.finish(outcome, of: listener)
        return true
    }

    private func outcome(
        _ message: MessageAddress,
        _ owner: AnyObject?,
        _ envelope: Envelope?,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox
    ) async -> PostTracker.Outcome {
        // Loaded for the call only, so that it is freed before tasks that wait for the call resume.
        guard let list = listener.list, let asyncCall = mailbox.asyncCall else { return .discarded }
        do {
            try await asyncCall(message, owner, PostContext(envelope, list))
            return .completed
        } catch {
            let reported = error as? ReportedFailure
            if reported == nil {
                list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
            } else if list.isObserved {
                listener.ensureCounters().borrow { $0.countFailure() }
            }
            return .failed(DeliveryFailure(reported?.error ?? error, listener, owner))
        }
    }

    private func callHasEnded() {
        setCurrent(0, .current)
        guard isAwaited else { return }
        var leaving = LaneState.Leaving()
        lock.withLock { settleTaken(&leaving) }
        leave(leaving)
        resumeWaiters()
    }

    /// Moves the first message out. False, with the lane idle, if there is none.
    private func take(into place: MessageAddress, _ envelope: inout Envelope?, _ mailbox: Mailbox) -> Bool {
        var leaving = LaneState.Leaving()
        var hasMessage = false
        var goesOn = true
        while goesOn, !hasMessage {
            lock.withLock {
                settleTaken(&leaving)
                goesOn = state.take(1, into: &taken, &leaving)
                guard let ticket = taken.first else { return }
                hasMessage = mailbox.state.takeFirst(of: ticket.numbers, into: place, &envelope).hasMessage
            }
        }
        leave(leaving)
        return hasMessage
    }

    /// What was taken has been used. Under the lock.
    private func settleTaken(_ leaving: inout LaneState.Leaving) {
        for ticket in taken { state.settle(ticket.listener, count: Int(ticket.count), &leaving) }
        taken.removeAll(keepingCapacity: true)
    }
}
