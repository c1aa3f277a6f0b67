#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// Delivers the events of a connection, one at a time, on a global queue, so that a slow handler does not
/// block the C client.
final class EventRelay: Sendable {
    /// What to report with the next connection. Guarded by a lock, under which events are also enqueued.
    fileprivate struct Outage {
        var begin: ContinuousClock.Instant?
        var unsent = 0
    }

    private let queue: HandlerQueue<TransportEvent>
    private let outage = Locked(Outage())

    init(_ onEvent: @escaping @Sendable (TransportEvent) -> Void) {
        queue = HandlerQueue(onEvent)
    }

    /// Returns when the first event has been delivered.
    func connected() async {
        queue.enqueue(.connected)
        await queue.finish()
    }

    func report(_ error: BridgeError) { report(TransportEvent.failed(error)) }

    func report(_ event: TransportEvent) {
        queue.enqueue(event)
        DispatchQueue.global().async { [queue] in queue.deliver() }
    }

    func report(_ event: NATSConnection.Event) {
        outage.withLock { outage in
            if let event = outage.told(event) { report(event) }
        }
    }

    /// Ends the relay, and returns when the last event has been delivered.
    func end() async {
        await queue.finish()
        await queue.close()
    }
}

extension EventRelay.Outage {
    /// The event to report for an event of the connection; nil for none.
    fileprivate mutating func told(_ event: NATSConnection.Event) -> TransportEvent? {
        switch event {
        case .disconnected(let reason):
            guard begin == nil else { return nil }
            begin = .now
            return .disconnected(reason: reason)
        case .reconnected:
            defer { self = EventRelay.Outage() }
            return .reconnected(gap: begin?.duration(to: .now) ?? .zero, unsent: unsent)
        // `.disconnected` reports an interruption, and closing was requested.
        case .interrupted, .closed: return nil
        case .failed(let error): return .failed(error)
        case .unsent(let count, let error):
            unsent += count
            return .failed(error)
        case .slowConsumer(let subject, let count): return .slowConsumer(pattern: subject, dropped: count)
        }
    }
}
#endif
