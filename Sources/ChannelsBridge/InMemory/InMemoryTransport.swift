public import Channels

/// Connects a bridge to an ``InMemoryBroker``, for several switchboards in one process.
///
/// It needs no server.
///
/// ```swift
/// let broker = InMemoryBroker()
/// let till = Bridge(
///     "till",
///     switchboard: tillBoard,
///     transport: InMemoryTransport(broker),
///     routes: [.outgoing(.sold)]
/// )
/// let kitchen = Bridge(
///     "kitchen",
///     switchboard: kitchenBoard,
///     transport: InMemoryTransport(broker),
///     routes: [.incoming(.sold)]
/// )
/// ```
public final class InMemoryTransport: Transport {
    private let broker: InMemoryBroker
    private let connection: InMemoryConnection

    /// Creates a transport that is not connected yet.
    public init(_ broker: InMemoryBroker) {
        self.broker = broker
        connection = broker.change { $0.newConnection() }
    }

    /// All capabilities, including ``TransportCapabilities/replay`` if the broker stores messages for durable
    /// names that subscribe later.
    public var capabilities: TransportCapabilities {
        broker.limits.replayedMessages > 0 ? .all : .all.subtracting(.replay)
    }

    // MARK: Lifecycle

    /// Connects immediately, even after ``close(timeout:)``.
    public func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        try broker.change { try $0.connect(connection, HandlerQueue(onEvent)) }
    }

    /// Closes the connection.
    ///
    /// Messages are lost only if the connection is broken.
    public func close(timeout: Duration) async throws {
        let (events, requests, queues, unsent) = broker.change { [connection] broker in
            broker.close(connection)
            defer {
                (connection.queues, connection.drained) = ([], [])
                (connection.unsent, connection.events, connection.requests) = ([], nil, [])
            }
            return (connection.events, connection.requests, connection.queues, connection.unsent)
        }
        for request in requests { request.finish(.failure(BridgeError(.closed))) }
        for queue in queues { await queue.close() }
        await events?.close()
        guard unsent.isEmpty else {
            let detail = "the connection was broken; \(unsent.count) messages were not sent"
            throw BridgeError(.closingTimedOut, detail: detail)
        }
    }

    /// Breaks the connection, for tests of interruptions.
    public func breakConnection() {
        let requests = broker.change { $0.breakOff(connection) }
        for request in requests { request.finish(.failure(BridgeError(.notConnected))) }
    }

    /// Restores the connection and its subscriptions, and sends the messages published meanwhile.
    public func restoreConnection() {
        broker.change { $0.restore(connection) }
    }

    /// Changes the state of the broker, or throws if the transport is not connected.
    func whileConnected<Result>(
        _ subject: String,
        _ body: (inout InMemoryBrokerState) throws -> Result
    ) throws -> Result {
        try broker.change { broker in
            switch connection.phase {
            case .connected: try body(&broker)
            case .new, .broken: throw BridgeError(.notConnected, subject: subject)
            case .closed: throw BridgeError(.closed, subject: subject)
            }
        }
    }

    private func check(_ message: TransportMessage) throws {
        guard message.body.count <= broker.limits.bodyLimit else {
            let detail = "\(message.body.count) bytes, at most \(broker.limits.bodyLimit) are allowed"
            throw BridgeError(.payloadTooLarge, subject: message.subject, detail: detail)
        }
    }

    // MARK: Messages

    /// Publishes a message.
    ///
    /// While the connection is broken, a message that is not durable is queued, and a durable one throws.
    public func publish(_ message: TransportMessage, durable: Bool) async throws {
        if durable { return try await publishDurably(message, isRepeated: true) { _ in } }
        try check(message)
        if try waits(message) { return }
        try whileConnected(message.subject) { $0.publish(message) }
    }

    /// Publishes a durable message, which is acknowledged before this returns.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        try check(message)
        let isStored = try whileConnected(message.subject) { try $0.publishDurably(message) }
        guard isStored || isRepeated else {
            throw BridgeError(
                .duplicateIdentifier,
                subject: message.subject,
                detail: message.headers[TransportHeaders.id]
            )
        }
        onResult(nil)
    }

    /// Buffers a message if the connection is broken.
    ///
    /// - Returns: Whether it was buffered.
    private func waits(_ message: TransportMessage) throws -> Bool {
        try broker.change { _ in
            guard case .broken = connection.phase else { return false }
            guard connection.unsent.count < broker.limits.unsentMessages else {
                let detail = "\(connection.unsent.count) messages are queued for the connection, the limit"
                throw BridgeError(.bufferFull, subject: message.subject, detail: detail)
            }
            connection.unsent.append(message)
            return true
        }
    }

    /// Subscribes to a subject or pattern.
    public func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        try whileConnected(subscription.pattern.text) { broker in
            broker.subscribe(connection, subscription, HandlerQueue(onMessage))
        }
    }

    /// Changes how many unsettled messages of a durable name this transport may hold.
    public func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        guard let name = subscription.durableName else { return }
        broker.change { $0.limit(connection, name, on: subscription.pattern, to: limit) }
    }

    // MARK: Requests

    /// Sends a request to one of the responders, which take turns.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        try check(message)
        let error = BridgeError(.timedOut, subject: message.subject, detail: "no reply within \(timeout)")
        guard timeout > .zero else { throw error }
        let first = FirstResult<TransportReply>()
        try whileConnected(message.subject) { try $0.request(connection, message, first) }
        defer { broker.change { _ in connection.requests.removeAll { $0 === first } } }
        return try await first.value(timeout: timeout, clock: broker.clock, else: error)
    }

    /// Receives the requests on a subject. Several responders take turns.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        try whileConnected(subject) { $0.respond(connection, subject, HandlerQueue(onRequest)) }
    }

    /// Ends the subscriptions that are not durable, and returns when their handlers have been called for every
    /// message published before.
    public func drainSubscriptions(timeout: Duration) async {
        let queues = broker.change { [connection] broker in
            broker.unsubscribe(connection)
            defer { connection.drained = [] }
            return connection.drained
        }
        for queue in queues { await queue.finish() }
    }

    // MARK: Last values

    /// Stores a last value.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        try check(message)
        return try whileConnected(message.subject) { $0.store(message) }
    }

    /// Stores a last value, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try check(message)
        return try whileConnected(message.subject) { $0.hasValue(message.subject) ? nil : $0.store(message) }
    }

    /// Watches the last values of the subjects that match a pattern.
    public func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        try whileConnected(pattern.text) { $0.watch(connection, pattern, HandlerQueue(onValue)) }
    }
}
