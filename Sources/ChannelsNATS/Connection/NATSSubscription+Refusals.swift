#if NATS
import CNATS
import Channels
import ChannelsBridge
import Dispatch

/// Retries a subscription that the server refuses. A server that reloads its configuration may end a
/// subscription, or refuse it on the next connection. The C client reports that and forgets it, so it is
/// tried again here until the server permits it.
extension NATSSubscription {
    private static let backoff = Backoff(first: .seconds(1))

    /// Called when the server does not permit the subscription. It is tried again after 1, 2, 4 … 30 seconds.
    ///
    /// - Returns: Whether this is the first refusal since it was in effect.
    func wasRefused() -> Bool {
        let (refusals, beginning) = state.withLock { state in
            state.refusals += 1
            return (state.refusals, state.beginnings)
        }
        // After further refusals, another attempt has already been scheduled.
        if refusals == 1 { tryAgain(beginning, attempt: 1) }
        return refusals == 1
    }

    /// - Parameter beginning: The beginning that was refused. If the subscription has begun again since, on a
    ///   new connection, nothing is done.
    private func tryAgain(_ beginning: Int, attempt: Int) {
        let delay = DispatchTimeInterval.milliseconds(Int(Self.backoff.delay(before: attempt).milliseconds))
        connection.onControl(after: delay) { [weak self] in self?.tryAgain(beginning) }
    }

    /// Called on the control queue.
    private func tryAgain(_ beginning: Int) {
        let (pointer, refusals, isWanted) = state.withLock { state in
            (state.pointer?.pointer, state.refusals, state.beginnings == beginning && !state.isCancelled)
        }
        // Without a connection, the subscription begins again on the next one.
        guard isWanted, let library = connection.state.withLock({ $0.library }) else { return }
        if let pointer {
            // Messages received before have to be handled first.
            var (count, bytes): (Int32, Int32) = (0, 0)
            let status = natsSubscription_GetPending(pointer, &count, &bytes)
            if status == NATS_OK, count > 0 { return tryAgain(beginning, attempt: 1) }
            natsSubscription_Unsubscribe(pointer)
        }
        let tryLater: @Sendable () -> Void = { [weak self] in
            guard let self else { return }
            let last = state.withLock { state in
                state.refusals = refusals + 1
                return state.beginnings
            }
            tryAgain(last, attempt: refusals + 1)
        }
        do {
            try begin(on: library) { [weak self] error in
                if error == nil { self?.state.withLock { $0.refusals = 0 } } else { tryLater() }
            }
        } catch {
            tryLater()
        }
    }
}
#endif
