internal import Channels

/// A transport to an ``InMemoryBroker``, for several switchboards in one process. It needs no server.
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
    private enum Phase { case new, connected, broken(since: ContinuousClock.Instant), closed }

    /// Guarded by its lock. The broker's lock is taken inside of it, never the other way.
    private struct State {
        var phase = Phase.new
        var events: HandlerQueue<TransportEvent>?
        /// Published while the connection is broken.
        var unsent: [TransportMessage] = []
        var nextRequest = 0
        /// Pending requests.
        var requests: [Int: FirstResult<TransportReply>] = [:]
        var closers: [@Sendable () async -> Void] = []
        /// For all but durable messages.
        var drains: [@Sendable () async -> Void] = []
    }

    private let broker: InMemoryBroker
    private let connection: Int
    private let state = Locked(State())

    /// Creates a transport that is not connected yet.
    public init(_ broker: InMemoryBroker) {
        self.broker = broker
        connection = broker.state.withLock { $0.newConnection() }
    }

    /// All capabilities; ``TransportCapabilities/replay`` if the broker stores messages for that.
    public var capabilities: TransportCapabilities {
        broker.limits.replayedMessages > 0 ? .all : .all.subtracting(.replay)
    }

    // MARK: Lifecycle

    /// Connects immediately, also after it was closed.
    public func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        let events = HandlerQueue(onEvent)
        try state.withLock { state in
            switch state.phase {
            case .new, .closed: state.phase = .connected
            case .connected, .broken: throw BridgeError(.alreadyRunning, detail: "the transport is connected")
            }
            state.events = events
            broker.state.withLock { $0.connect(connection) }
            events.enqueue(.connected)
        }
        events.deliver()
    }

    /// Closes the connection. Messages are lost only if the connection was broken.
    public func close(within timeout: Duration) async throws {
        let (events, requests, closers, unsent, reached) = state.withLock { state in
            defer {
                state.phase = .closed
                (state.closers, state.drains) = ([], [])
                (state.unsent, state.events) = ([], nil)
            }
            let reached = broker.state.withLock { $0.disconnect(connection, forEver: true, broker) }
            return (state.events, state.requests, state.closers, state.unsent, reached)
        }
        for queue in reached { queue.deliver() }
        for request in requests.values { request.finish(.failure(BridgeError(.closed))) }
        for close in closers { await close() }
        await events?.close()
        guard unsent.isEmpty else {
            throw BridgeError(
                .closingTimedOut,
                detail: "the connection was broken; \(unsent.count) messages were not sent"
            )
        }
    }

    /// Breaks the connection, for tests of interruptions.
    public func breakConnection() {
        var requests: [Int: FirstResult<TransportReply>] = [:]
        let (events, reached) = state.withLock {
            state -> (HandlerQueue<TransportEvent>?, [HandlerQueue<InboundMessage>]) in
            guard case .connected = state.phase else { return (nil, []) }
            state.phase = .broken(since: .now)
            state.events?.enqueue(.disconnected(reason: nil))
            swap(&requests, &state.requests)
            return (state.events, broker.state.withLock { $0.disconnect(connection, forEver: false, broker) })
        }
        for queue in reached { queue.deliver() }
        for request in requests.values { request.finish(.failure(BridgeError(.notConnected))) }
        events?.deliver()
    }

    /// Restores the connection and its subscriptions, and sends what was published meanwhile.
    public func restoreConnection() {
        let restored = state.withLock {
            state -> (HandlerQueue<TransportEvent>?, [HandlerQueue<InboundMessage>], [HandlerQueue<StoredValue>])? in
            guard case .broken(let since) = state.phase else { return nil }
            state.phase = .connected
            state.events?.enqueue(.reconnected(gap: since.duration(to: .now), unsent: 0))
            let unsent = state.unsent
            state.unsent = []
            return broker.state.withLock { broker in
                let fed = broker.reconnect(connection, self.broker)
                let reached = unsent.flatMap { broker.publish($0) }
                return (state.events, fed + reached, broker.tellWatchers())
            }
        }
        guard let (events, messages, values) = restored else { return }
        events?.deliver()
        for queue in messages { queue.deliver() }
        for queue in values { queue.deliver() }
    }

    /// Runs a body under both locks if connected, and then delivers the queues that it returned.
    private func whileConnected<Item, Result>(
        _ subject: String,
        _ body: (inout State, inout InMemoryBrokerState) throws -> (Result, [HandlerQueue<Item>])
    ) throws -> Result {
        let (result, reached) = try state.withLock { state in
            switch state.phase {
            case .connected: try broker.state.withLock { try body(&state, &$0) }
            case .new, .broken: throw BridgeError(.notConnected, subject: subject)
            case .closed: throw BridgeError(.closed, subject: subject)
            }
        }
        for queue in reached { queue.deliver() }
        return result
    }

    private func check(_ message: TransportMessage) throws {
        guard message.body.count <= broker.limits.bodySize else {
            let detail = "\(message.body.count) bytes, at most \(broker.limits.bodySize) are allowed"
            throw BridgeError(.payloadTooLarge, subject: message.subject, detail: detail)
        }
    }

    // MARK: Messages

    /// Publishes a message. While the connection is broken, a message that is not durable waits.
    public func publish(_ message: TransportMessage, durable: Bool) async throws {
        try check(message)
        if !durable, try waits(message) { return }
        try whileConnected(message.subject) { _, broker in
            ((), durable ? try broker.publishDurably(message, self.broker) ?? [] : broker.publish(message))
        }
    }

    /// Publishes a durable message, which is acknowledged before this returns.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        try check(message)
        let isStored = try whileConnected(message.subject) { _, broker in
            let reached = try broker.publishDurably(message, self.broker)
            return (reached != nil, reached ?? [])
        }
        guard isStored || isRepeated else {
            throw BridgeError(.duplicateIdentifier, subject: message.subject)
        }
        onResult(nil)
    }

    /// Buffers a message if the connection is broken.
    ///
    /// - Returns: Whether it was buffered.
    private func waits(_ message: TransportMessage) throws -> Bool {
        try state.withLock { state in
            guard case .broken = state.phase else { return false }
            guard state.unsent.count < broker.limits.unsentMessages else {
                let detail = "\(state.unsent.count) messages wait for the connection"
                throw BridgeError(.bufferFull, subject: message.subject, detail: detail)
            }
            state.unsent.append(message)
            return true
        }
    }

    /// Subscribes. See ``Transport/subscribe(_:onMessage:)``.
    public func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        let queue = HandlerQueue(onMessage)
        let pattern = subscription.pattern
        try whileConnected(pattern.text) { state, broker -> (Void, [HandlerQueue<InboundMessage>]) in
            state.closers.append { await queue.close() }
            guard let durableName = subscription.durableName else {
                state.drains.append { await queue.finish() }
                broker.subscribe(connection, pattern, group: subscription.group, queue)
                return ((), [])
            }
            let key = InMemoryBrokerState.ConsumerKey(name: durableName, pattern: pattern)
            let member = DurableConsumer.Member(
                connection: connection,
                queue: queue,
                limit: subscription.unsettledLimit,
                byteLimit: subscription.unsettledByteLimit
            )
            return ((), broker.subscribeDurably(key, member, from: subscription.start, self.broker))
        }
    }

    // MARK: Requests

    /// Sends a request to one of the responders, in turn.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        try check(message)
        let first = FirstResult<TransportReply>()
        let number = try whileConnected(message.subject) { state, broker in
            guard let responder = broker.responder(of: message.subject) else {
                throw BridgeError(.noResponder, subject: message.subject)
            }
            state.nextRequest += 1
            state.requests[state.nextRequest] = first
            responder.enqueue(InboundRequest(message) { first.finish(.success($0)) })
            return (state.nextRequest, [responder])
        }
        defer { state.withLock { _ = $0.requests.removeValue(forKey: number) } }
        let error = BridgeError(.timedOut, subject: message.subject, detail: "no reply within \(timeout)")
        return try await first.value(within: timeout, clock: broker.clock, else: error)
    }

    /// Responds. See ``Transport/respond(to:onRequest:)``.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        let queue = HandlerQueue(onRequest)
        try whileConnected(subject) { state, broker in
            state.closers.append { await queue.close() }
            state.drains.append { await queue.finish() }
            broker.respond(connection, subject, queue)
            return ((), [HandlerQueue<InboundRequest>]())
        }
    }

    /// Ends the subscriptions, and returns when their handlers have been called for all that was published before.
    public func drainSubscriptions(within timeout: Duration) async {
        let drains = state.withLock { state in
            broker.state.withLock { $0.unsubscribe(connection) }
            defer { state.drains = [] }
            return state.drains
        }
        for drain in drains { await drain() }
    }

    // MARK: Last values

    /// Stores a last value.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        try check(message)
        return try whileConnected(message.subject) { _, broker in
            let (revision, reached) = broker.store(message)
            return (revision, reached)
        }
    }

    /// Stores a last value, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try check(message)
        return try whileConnected(message.subject) { _, broker in
            if broker.hasValue(message.subject) { return (UInt64?.none, [HandlerQueue<StoredValue>]()) }
            let (revision, reached) = broker.store(message)
            return (revision, reached)
        }
    }

    /// Watches the last value of a subject. See ``Transport/watch(_:onValue:)``.
    public func watch(_ subject: String, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        let queue = HandlerQueue(onValue)
        try whileConnected(subject) { state, broker in
            state.closers.append { await queue.close() }
            return ((), broker.watch(connection, subject, queue))
        }
    }
}
