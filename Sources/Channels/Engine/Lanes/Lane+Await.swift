internal import CChannels
internal import Synchronization

/// The drain of an async listener, which has a lane of its own: one call is awaited after another.
extension Lane {
    func drainAwaiting(on isolation: AsyncIsolation) async -> DrainTurn.End {
        let listener = lock.withLock { () -> ListenerEntry? in
            guard state.beginTurn() else { return nil }
            guard let listener = state.next else {
                _ = state.endTurn()
                noteActivity()
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
            taken.settle(&cleanup)
            defer { noteActivity() }
            return state.endTurn()
        }
        cleanup.run()
        return isIdle ? .idle : end
    }

    /// Takes a message and awaits the closure, without suspending in between. So a `cancel` on the closure's
    /// isolation comes either before the message is taken or after the call has begun. Returns false, with
    /// the lane idle, if there are no more messages.
    @inline(never)
    private func deliverNext(
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        _ message: MessageAddress,
        on isolation: isolated (any Actor)?
    ) async -> Bool {
        if let calls = mailbox.calls { await mailbox.waitForCalls(most: calls.overlapping.calls - 1) }
        setCurrent(listener.address)
        var envelope: Envelope?
        guard take(into: message, &envelope, mailbox) else {
            if isAwaited { resumeWaiters() }
            return false
        }
        defer {
            mailbox.layout.destroy(message)
            didEndCall()
        }
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner else {
            endCall(mailbox)
            envelope?.tracker?.finish(.discarded)
            endOrphan(listener, mailbox)
            return true
        }
        let isLater = mailbox.calls.map { $0.overlapping.kind != .ignore } ?? false
        let call = AsyncCall(listener, mailbox, owner, envelope, isLater: isLater)
        guard let calls = mailbox.calls, isLater else {
            mailbox.countDelivered()
            let outcome = await call.run(message, isolation: isolation)
            // Before the poster learns of it, whose next message is not to be ignored.
            if mailbox.ignoresWhileBusy { settle() }
            endCall(mailbox)
            envelope?.tracker?.finish(outcome)
            return true
        }
        let kept = KeptMessage(copying: message, mailbox.layout)
        let task = Task {
            // Captured, so that the task has this isolation.
            _ = isolation
            // On this isolation no call begins after `cancel` has returned.
            var outcome = PostTracker.Outcome.discarded
            if !listener.isCancelled {
                mailbox.countOverlapping()
                outcome = await call.run(kept.address, isolation: isolation)
            }
            withExtendedLifetime(kept) {}
            if self.endCall(mailbox) { outcome = .dropped }
            envelope?.tracker?.finish(outcome)
        }
        if lock.withLock({ calls.began(task) }) { task.cancel() }
        return true
    }

    /// A call that may overlap has ended. Returns whether it was replaced.
    @discardableResult
    private func endCall(_ mailbox: Mailbox) -> Bool {
        guard let calls = mailbox.calls else { return false }
        let (isReplaced, resumed) = lock.withLock { (calls.isReplaced, calls.end()) }
        resumed.resume()
        return isReplaced
    }

    private func didEndCall() {
        setCurrent(0)
        guard isAwaited else { return }
        settle()
        resumeWaiters()
    }

    private func settle() {
        var cleanup = PendingCleanup()
        lock.withLock { taken.settle(&cleanup) }
        cleanup.run()
    }

    /// Moves the first message out. Returns false, with the lane idle, if there is none.
    private func take(into place: MessageAddress, _ envelope: inout Envelope?, _ mailbox: Mailbox) -> Bool {
        var cleanup = PendingCleanup()
        var hasMessage = false
        var hasTicket = true
        while hasTicket, !hasMessage {
            lock.withLock {
                taken.settle(&cleanup)
                hasTicket = taken.take(from: &state, calls: 1, arrived: arrived.load(ordering: .relaxed))
                guard let ticket = taken.current else {
                    noteActivity()
                    // Under the lock, because the next drain may begin as soon as it is released.
                    setCurrent(0)
                    return
                }
                taken.use(ticket.count, of: ticket, mailbox)
                hasMessage = mailbox.state.takeFirst(into: place, &envelope)
                if hasMessage { mailbox.calls?.begin() }
            }
        }
        cleanup.run()
        return hasMessage
    }
}

/// One call of an async listener.
private struct AsyncCall: Sendable {
    private let listener: ListenerEntry
    private let mailbox: Mailbox
    private let owner: (any AnyObject & Sendable)?
    private let envelope: Envelope?
    /// The listener's closure, kept for a call that begins later: it is freed when nothing waits any more. Nil to
    /// load it for the call, so that it is freed before those who wait for the call resume.
    private let closure: AsyncListenerCall?

    init(_ listener: ListenerEntry, _ mailbox: Mailbox, _ owner: AnyObject?, _ envelope: Envelope?, isLater: Bool) {
        self.listener = listener
        self.mailbox = mailbox
        self.owner = owner.map { sendable($0) }
        self.envelope = envelope
        closure = isLater ? mailbox.asyncCall : nil
    }

    func run(_ message: MessageAddress, isolation: isolated (any Actor)?) async -> PostTracker.Outcome {
        // One chain for each call: tasks made by the closure inherit it and may outlive the call.
        let chain = ListenerChain(listener, upstream: envelope?.tracker?.chain)
        let outcome = await ListenerChain.$current.withValue(chain) {
            // Captured, so that the closure has this isolation and does not leave the turn.
            _ = isolation
            guard let trace = envelope?.trace else { return await self.outcome(message) }
            var outcome = PostTracker.Outcome.discarded
            await trace.deliver(to: listener, isolation: isolation) { outcome = await self.outcome(message) }
            return outcome
        }
        chain.endCall()
        return outcome
    }

    private func outcome(_ message: MessageAddress) async -> PostTracker.Outcome {
        // Loaded for the call only, so that it is freed before tasks that wait for the call resume.
        guard let list = listener.list, let closure = closure ?? mailbox.asyncCall else { return .discarded }
        do {
            try await closure(message, owner, list.envelope(of: envelope))
            return .completed
        } catch {
            // A call that was replaced was asked to throw.
            if let calls = mailbox.calls, mailbox.withLock({ calls.isReplaced }) { return .dropped }
            let reported = error as? ReportedFailure
            if reported == nil {
                list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
            } else {
                list.activeInstrument?.didThrow(listener)
            }
            return .failed(DeliveryFailure(reported?.error ?? error, listener, owner))
        }
    }
}
