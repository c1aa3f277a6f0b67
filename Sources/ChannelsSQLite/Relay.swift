#if SQLite
public import Channels
public import ChannelsBridge

/// Hands the durable messages of one transport on to another, in order, at least once: from a file to a broker.
///
/// ```swift
/// let relay = Relay(from: SQLiteTransport(path: "shop.sqlite"), to: broker, matching: "shop.>")  // a NATSTransport
/// try await relay.run()
/// ```
///
/// It waits for both, tries again as long as the other one does not acknowledge a message, and continues after it was
/// killed with what was not acknowledged. Each message keeps its identifier, by which a broker drops repeats. One that
/// the other would never take, because it is too large for example, is reported and dropped.
public struct Relay: Sendable {
    private let source: any Transport
    private let target: any Transport
    private let pattern: ChannelPattern
    private let name: String
    private let backoff: Backoff
    private let onFailure: @Sendable (BridgeError) -> Void

    /// Creates a relay.
    ///
    /// - Parameters:
    ///   - source: A transport with durable messages, which the relay connects and closes.
    ///   - target: A transport with durable messages, which the relay connects and closes.
    ///   - pattern: The subjects.
    ///   - name: The durable name under which it reads: relays of one name share the messages, and then their order is
    ///     that of each.
    ///   - backoff: How long it waits between attempts.
    ///   - onFailure: Called for each attempt that failed, and for the failures that the transports report.
    public init(
        from source: any Transport,
        to target: any Transport,
        matching pattern: ChannelPattern = ">",
        name: String = "relay",
        backoff: Backoff = Backoff(),
        onFailure: @escaping @Sendable (BridgeError) -> Void = { _ in }
    ) {
        (self.source, self.target, self.pattern, self.name) = (source, target, pattern, name)
        (self.backoff, self.onFailure) = (backoff, onFailure)
    }

    /// Hands messages on until the task is cancelled.
    ///
    /// - Throws: `BridgeError/Code/unsupported` if a transport has no durable messages; `CancellationError`.
    public func run() async throws {
        guard source.capabilities.contains(.durable), target.capabilities.contains(.durable) else {
            throw BridgeError(.unsupported, detail: "a relay needs two transports with durable messages")
        }
        try await retry { try await source.connect(onEvent: report) }
        do {
            try await retry { try await target.connect(onEvent: report) }
            try await relay()
        } catch {
            try? await source.close(within: .seconds(5))
            try? await target.close(within: .seconds(5))
            throw error
        }
    }

    private func relay() async throws {
        let (messages, arrived) = AsyncStream.makeStream(of: InboundMessage.self)
        let subscription = TransportSubscription(to: pattern, durableName: name, start: .stored, unsettledLimit: 256)
        try await retry { try await source.subscribe(subscription) { arrived.yield($0) } }
        for await message in messages {
            do {
                try await retry { try await target.publish(message.message, durable: true) }
                message.settle?(.acknowledged)
            } catch let error as BridgeError {
                onFailure(error)
                message.settle?(.terminated)
            }
        }
        try Task.checkCancellation()
    }

    @Sendable
    private func report(_ event: TransportEvent) {
        if case .failed(let error) = event { onFailure(error) }
    }

    /// - Throws: What concerns the message; `CancellationError`.
    private func retry(_ attempt: () async throws -> Void) async throws {
        for repetition in 1... {
            do { return try await attempt() } catch let error as BridgeError where !error.code.concernsTheMessage {
                onFailure(error)
                try await Task.sleep(for: backoff.delay(before: repetition))
            }
        }
    }
}
#endif
