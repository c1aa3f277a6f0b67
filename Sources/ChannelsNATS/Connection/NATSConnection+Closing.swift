#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch

extension NATSConnection {
    /// Waits until every accepted message has been written and the server has answered, or until the
    /// deadline.
    ///
    /// - Returns: Whether that was achieved.
    func flush(until deadline: ContinuousClock.Instant) async -> Bool {
        let idle = FirstResult<Void>()
        state.withLock { $0.idleWaiters.append(idle) }
        resumeWaiters()
        let timeout = max(ContinuousClock.now.duration(to: deadline), .zero)
        // In a task of its own: this one may be cancelled.
        await Task {
            try? await idle.value(timeout: timeout, clock: ContinuousClock(), else: BridgeError(.closingTimedOut))
        }.value
        let rest = ContinuousClock.now.duration(to: deadline)
        let (isIdle, phase) = state.withLock { ($0.outbox.isIdle, $0.outbox.phase) }
        // Without a connection there is nothing to flush; its losses have been reported.
        guard isIdle, phase == .connected, rest > .zero else { return isIdle && phase != .connected }
        return
            (try? await onControl { [self] in
                guard let library = state.withLock({ $0.library }) else { return false }
                return flush(library, timeout: rest.milliseconds) == NATS_OK
            }) ?? false
    }

    /// Refuses further messages, except for acknowledgements and replies.
    func stopTakingMessages() {
        state.withLock { $0.takesMessages = false }
    }

    /// Closes the connection. Messages still waiting to be sent are lost and reported. Returns when no
    /// callback of the connection can be called any more.
    func close() async {
        beginClosing()
        // In a task of its own: this one may be cancelled.
        await Task { try? await self.hasEnded.wait() }.value
    }

    /// On the thread of the subscription, after the last call of its handler.
    func subscriptionEnded() {
        let hasEnded = state.withLock { state in
            state.liveSubscriptions -= 1
            return state.hasEnded
        }
        if hasEnded { self.hasEnded.open() }
    }

    /// Does not wait: also for owners that are released without having closed the connection.
    func beginClosing() {
        let (isFirst, library) = state.withLock { state in
            defer { (state.takesMessages, state.isClosing) = (false, true) }
            return (!state.isClosing, state.library)
        }
        guard isFirst else { return }
        control.async {
            guard let library, !library.isClosed else { return self.hasClosed() }
            natsConnection_Close(library.pointer)
        }
    }

    /// There is no connection any more, and there will be none.
    func hasClosed() {
        let (isFirst, lost, waiters, library, hasEnded) = state.withLock { state in
            let isFirst = !state.isClosed
            state.isClosed = true
            let lost = state.outbox.close()
            return (isFirst, lost, state.takeWaiters(), state.library.take(), state.hasEnded)
        }
        control.async {
            // The thread that reads has ended.
            self.freeEnded(before: nil)
            withExtendedLifetime(library) {}
        }
        if lost > 0 { onEvent(.unsent(lost, .unsentAtClose(lost))) }
        if isFirst { onEvent(.closed) }
        for waiter in waiters { waiter.finish(.success(())) }
        if hasEnded { self.hasEnded.open() }
    }

    /// Ends a subscription of the C client. It is freed when another one ends a second later, or with the connection.
    /// On the control queue.
    ///
    /// Before version 3.6.1 the thread that reads looks up the subscription of a message, and uses it for a moment
    /// without a reference (nats.c, issue 637).
    func free(_ subscription: LibrarySubscription) {
        natsSubscription_Unsubscribe(subscription.pointer)
        let isClosed = state.withLock { state in
            state.ended.append((subscription, .now))
            return state.isClosed
        }
        freeEnded(before: isClosed ? nil : .now - .seconds(1))
    }

    /// - Parameter time: Only those that ended before; nil: all.
    private func freeEnded(before time: ContinuousClock.Instant?) {
        let freed = state.withLock { state in
            let count = time.map { time in state.ended.prefix { $0.since < time }.count } ?? state.ended.count
            defer { state.ended.removeFirst(count) }
            return Array(state.ended.prefix(count))
        }
        for (subscription, _) in freed { natsSubscription_Destroy(subscription.pointer) }
    }
}
#endif
