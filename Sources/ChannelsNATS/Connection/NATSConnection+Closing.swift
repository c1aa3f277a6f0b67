#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch

extension NATSConnection {
    /// Waits until every accepted message has been written and the server has answered, or until the
    /// deadline.
    ///
    /// - Returns: Whether that was so before the deadline.
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
        // Without a connection, there is nothing to flush, and its losses have been reported.
        guard isIdle, phase == .connected, rest > .zero else { return isIdle && phase != .connected }
        return
            (try? await onControl { [self] in
                guard let library = state.withLock({ $0.library }) else { return false }
                return flush(library, timeout: rest.milliseconds) == NATS_OK
            }) ?? false
    }

    /// Refuses further messages except acknowledgements and replies.
    func stopTakingMessages() {
        state.withLock { $0.takesMessages = false }
    }

    /// Closes the connection, and returns when none of its callbacks can be called any more. Messages still
    /// waiting to be sent are lost and reported.
    func close() async {
        beginClosing()
        // In a task of its own: this one may be cancelled.
        await Task { try? await self.hasEnded.wait() }.value
    }

    /// Called on the thread of a subscription, after the last call of its handler.
    func subscriptionEnded() {
        let hasEnded = state.withLock { state in
            state.liveSubscriptions -= 1
            return state.hasEnded
        }
        if hasEnded { self.hasEnded.open() }
    }

    /// Closes the connection without waiting. Owners that are released without having closed it call this,
    /// too.
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

    /// Called when there is no connection any more, and there will not be another.
    func hasClosed() {
        let (isFirst, lost, waiters, library, hasEnded) = state.withLock { state in
            let isFirst = !state.isClosed
            state.isClosed = true
            let lost = state.outbox.close()
            return (isFirst, lost, state.takeWaiters(), state.library.take(), state.hasEnded)
        }
        control.async {
            // The thread that reads has ended, so nothing uses these any more.
            self.freeEnded(before: nil)
            withExtendedLifetime(library) {}
        }
        if lost > 0 { onEvent(.unsent(lost, .unsentAtClose(lost))) }
        if isFirst { onEvent(.closed) }
        for waiter in waiters { waiter.finish(.success(())) }
        if hasEnded { self.hasEnded.open() }
    }

    /// Ends a subscription of the C client. It is freed when another one ends at least a second later, or
    /// when the connection closes. Called on the control queue.
    ///
    /// In the C client before version 3.6.1, the thread that reads looks up the subscription of a message and
    /// uses it for a moment without a reference.
    func free(_ subscription: LibrarySubscription) {
        natsSubscription_Unsubscribe(subscription.pointer)
        let isClosed = state.withLock { state in
            state.ended.append((subscription, .now))
            return state.isClosed
        }
        freeEnded(before: isClosed ? nil : .now - .seconds(1))
    }

    /// - Parameter time: Subscriptions that ended before this time are freed; nil for all.
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
