#if NATS
import ChannelsBridge
import Dispatch

/// Delivers the events of a connection, one at a time, on its own queue: a slow handler must not block the C
/// client.
///
/// Only used on `queue`: the time of the last disconnection and the number of messages not sent since.
final class EventRelay: @unchecked Sendable {  // every stored variable is touched on `queue` alone
    private let queue = DispatchQueue(label: "channels.nats.events")
    private var onEvent: (@Sendable (TransportEvent) -> Void)?
    private var disconnected: ContinuousClock.Instant?
    private var unsent = 0

    init(_ onEvent: @escaping @Sendable (TransportEvent) -> Void) {
        self.onEvent = onEvent
    }

    func connected() async {
        await onQueue { self.onEvent?(.connected) }
    }

    func report(_ error: BridgeError) {
        queue.async { self.onEvent?(.failed(error)) }
    }

    func reportLostValues(on subject: String?) {
        queue.async { self.onEvent?(.lastValuesLost(subject: subject)) }
    }

    func report(_ event: NATSConnection.Event) {
        queue.async { self.handOver(event) }
    }

    /// Ends the relay. Returns when the last event has been delivered; none follows.
    func end() async {
        await onQueue { self.onEvent = nil }
    }

    private func onQueue(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                body()
                continuation.resume()
            }
        }
    }

    private func handOver(_ event: NATSConnection.Event) {
        switch event {
        case .disconnected(let reason):
            guard disconnected == nil else { return }
            disconnected = .now
            onEvent?(.disconnected(reason: reason))
        case .reconnected:
            let gap = disconnected?.duration(to: .now) ?? .zero
            defer { (disconnected, unsent) = (nil, 0) }
            onEvent?(.reconnected(gap: gap, unsent: unsent))
        // Closed as requested.
        case .interrupted, .closed: break
        case .failed(let error): onEvent?(.failed(error))
        case .unsent(let count, let error):
            unsent += count
            onEvent?(.failed(error))
        case .slowConsumer(let subject, let count): onEvent?(.slowConsumer(pattern: subject, dropped: count))
        }
    }
}
#endif
