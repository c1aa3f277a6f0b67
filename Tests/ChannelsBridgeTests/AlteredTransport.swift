import Channels
import ChannelsBridge

/// A transport that does to another what a test wants.
struct AlteredTransport: Transport {
    let base: InMemoryTransport
    var capabilities: TransportCapabilities = .all
    var connects: @Sendable () async throws -> Void = {}
    var hears: @Sendable (@escaping @Sendable (TransportEvent) -> Void) -> Void = { _ in }
    var publishes: @Sendable (TransportMessage) async throws -> TransportMessage? = { $0 }
    var stores: @Sendable (TransportMessage) async throws -> Void = { _ in }
    var subscribes: @Sendable (TransportSubscription) async throws -> Void = { _ in }
    var receives: @Sendable (InboundMessage) -> [InboundMessage] = { [$0] }
    var sees: @Sendable (StoredValue) -> Bool = { _ in true }
    var asks: @Sendable (TransportSubscription) -> TransportSubscription = { $0 }
    var limits: @Sendable (Int) -> Int = { $0 }
    var revises: @Sendable (UInt64) -> UInt64 = { $0 }
    var counts: @Sendable (Int) -> Int = { $0 }
    var finds: @Sendable ([StoredMessage]) -> [StoredMessage] = { $0 }
    var removes: @Sendable () -> Bool = { true }
    var repliesWith: @Sendable (TransportReply) -> TransportReply = { $0 }
    /// Whether a check has interrupted the connection.
    var isInterrupted: @Sendable () -> Bool = { false }
    var closes: @Sendable () async -> Void = {}

    init(_ broker: InMemoryBroker) { base = InMemoryTransport(broker) }

    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        try await connects()
        hears(onEvent)
        try await base.connect(onEvent: onEvent)
    }

    func publish(_ message: TransportMessage, durable: Bool) async throws {
        if let message = try await publishes(message) { try await base.publish(message, durable: durable) }
    }

    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        try await subscribes(subscription)
        try await base.subscribe(asks(subscription)) { [receives] message in
            for message in receives(message) { onMessage(message) }
        }
    }

    func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        base.limitPrefetch(to: limits(limit), of: subscription)
    }

    func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        try await base.request(message, timeout: timeout)
    }

    func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        try await base.respond(to: subject) { [repliesWith] request in
            onRequest(InboundRequest(request.message) { request.reply(repliesWith($0)) })
        }
    }

    func store(_ message: TransportMessage) async throws -> UInt64 {
        try await stores(message)
        return revises(try await base.store(message))
    }

    func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try await stores(message)
        return try await base.storeIfNone(message)
    }

    func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        try await base.watch(pattern) { [sees] value in
            if sees(value) { onValue(value) }
        }
    }

    func drainSubscriptions(timeout: Duration) async { await base.drainSubscriptions(timeout: timeout) }

    func close(timeout: Duration) async throws {
        await closes()
        try await base.close(timeout: timeout)
    }
}

/// An altered transport that keeps dead letters, too.
struct AlteredStore: MessageStore {
    let altered: AlteredTransport

    var capabilities: TransportCapabilities { altered.capabilities }

    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        try await altered.connect(onEvent: onEvent)
    }

    func publish(_ message: TransportMessage, durable: Bool) async throws {
        try await altered.publish(message, durable: durable)
    }

    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws { try await altered.subscribe(subscription, onMessage: onMessage) }

    func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        altered.limitPrefetch(to: limit, of: subscription)
    }

    func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        altered.counts(try await altered.base.unsettledCount(of: name, on: pattern))
    }

    func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]
    {
        altered.finds(try await altered.base.stored(after: number, matching: pattern, atMost: limit))
    }

    func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        guard altered.removes() else { return }
        try await altered.base.remove(number, on: pattern)
    }

    func prepare(forLetterOn subject: String, under prefix: String) async throws {
        try await altered.base.prepare(forLetterOn: subject, under: prefix)
    }

    func drainSubscriptions(timeout: Duration) async { await altered.drainSubscriptions(timeout: timeout) }

    func close(timeout: Duration) async throws { try await altered.close(timeout: timeout) }
}
