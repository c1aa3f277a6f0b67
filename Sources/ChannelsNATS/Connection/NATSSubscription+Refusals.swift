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
        let attempt = state.withLock { $0.refusal.refused() }
        schedule(attempt)
        return attempt != nil
    }

    private func schedule(_ attempt: RefusalState.Attempt?) {
        guard let attempt else { return }
        let delay = Self.backoff.delay(before: attempt.refusals)
        connection.onControl(after: .milliseconds(Int(delay.milliseconds))) { [weak self] in self?.make(attempt) }
    }

    /// Called on the control queue.
    private func make(_ attempt: RefusalState.Attempt) {
        let (pointer, isCancelled) = state.withLock { ($0.pointer?.pointer, $0.isCancelled) }
        // Without a connection, the subscription begins again on the next one.
        guard !isCancelled, let library = connection.state.withLock({ $0.library }) else { return }
        if let pointer {
            // Messages received before have to be handled first.
            var (count, bytes): (Int32, Int32) = (0, 0)
            let status = natsSubscription_GetPending(pointer, &count, &bytes)
            if status == NATS_OK, count > 0 { return schedule(attempt) }
        }
        guard state.withLock({ $0.refusal.begin(attempt) }) else { return }
        if let pointer { natsSubscription_Unsubscribe(pointer) }
        let end: @Sendable (Bool) -> Void = { [weak self] isRefused in
            self?.schedule(self?.state.withLock { $0.refusal.end(attempt, isRefused: isRefused) })
        }
        do { try begin(on: library) { end($0 != nil) } } catch { end(true) }
    }
}
#endif
