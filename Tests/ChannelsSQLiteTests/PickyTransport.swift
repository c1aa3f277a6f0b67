#if SQLite
import Channels
import ChannelsBridge

/// Refuses one subject, as a broker does that does not permit it.
final class PickyTransport: Transport {
    let broker = InMemoryBroker()
    let refused: Locked<String?>
    private let inner: InMemoryTransport

    let connects = Locked<(any Error)?>(nil)
    /// Thrown for each message.
    let thrown = Locked<(any Error)?>(nil)
    let onEvent = Locked<(@Sendable (TransportEvent) -> Void)?>(nil)
    private let code: BridgeError.Code

    init(refuses subject: String?, _ code: BridgeError.Code) {
        self.code = code
        inner = InMemoryTransport(broker)
        refused = Locked(subject)
    }

    var capabilities: TransportCapabilities { inner.capabilities }

    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        if let error = connects.withLock({ $0 }) { throw error }
        self.onEvent.withLock { $0 = onEvent }
        try await inner.connect(onEvent: onEvent)
    }

    func publish(_ message: TransportMessage, durable: Bool) async throws {
        if refused.withLock({ $0 == message.subject }) { throw BridgeError(code, subject: message.subject) }
        try await publishDurably(message, isRepeated: true) { _ in }
    }

    func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        if let error = thrown.withLock({ $0 }) { throw error }
        guard refused.withLock({ $0 != message.subject }) else {
            return onResult(BridgeError(code, subject: message.subject))
        }
        try await inner.publishDurably(message, isRepeated: isRepeated, onResult: onResult)
    }

    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        try await inner.subscribe(subscription, onMessage: onMessage)
    }

    func close(timeout: Duration) async throws { try await inner.close(timeout: timeout) }
}
#endif
