#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// Receives the answers to all requests of a transport, with one subscription and therefore one thread.
///
/// `state` guards the routes. Whoever waits is told without it.
final class ReplyInbox: Sendable {
    typealias OnAnswer = @Sendable (Result<NATSMessage, BridgeError>) -> Void

    private struct Route {
        let subject: String
        /// Whether a message is the answer.
        let accepts: @Sendable (NATSMessage) -> Bool
        let onAnswer: OnAnswer
        let isBoundToConnection: Bool
    }

    private struct State {
        var routes: [UInt64: Route] = [:]
        var deadlines = Deadlines()
        var last: UInt64 = 0
        var isSweeping = false
        var subscription: NATSSubscription?
        var end: BridgeError?
    }

    private let connection: NATSConnection
    private let prefix: String
    private let state = Locked(State())
    /// The precision of timeouts.
    private static let sweepInterval = DispatchTimeInterval.milliseconds(25)

    private init(_ connection: NATSConnection, _ configuration: NATSConfiguration) {
        self.connection = connection
        prefix = configuration.newInbox() + "."
    }

    var isConnected: Bool { connection.isConnected }

    static func open(on connection: NATSConnection, _ configuration: NATSConfiguration) async throws -> ReplyInbox {
        let inbox = ReplyInbox(connection, configuration)
        let subscription = try await NATSSubscription.subscribe(to: inbox.prefix + "*", on: connection) {
            [weak inbox] message in
            if let message { inbox?.received(message) }
        }
        inbox.state.withLock { $0.subscription = subscription }
        return inbox
    }

    /// Sends a request and waits for an answer.
    ///
    /// - Parameter accepts: Whether a message is the answer; others are ignored.
    func request(
        _ message: NATSMessage,
        timeout: Duration,
        accepts: @escaping @Sendable (NATSMessage) -> Bool = { _ in true }
    ) async throws -> NATSMessage {
        let first = FirstResult<NATSMessage>()
        try await withTaskCancellationHandler {
            try await send(message, timeout: timeout, accepts: accepts) { first.finish($0.mapError { $0 }) }
        } onCancel: {
            first.finish(.failure(CancellationError()))
        }
        return try await withTaskCancellationHandler {
            try await first.value()
        } onCancel: {
            first.finish(.failure(CancellationError()))
        }
    }

    /// Sends a request, and returns when it is in the outbox.
    ///
    /// - Parameters:
    ///   - accepts: Whether a message is the answer; others are ignored.
    ///   - onAnswer: Called once, on any thread, unless this throws. It must not block.
    func send(
        _ message: NATSMessage,
        timeout: Duration,
        accepts: @escaping @Sendable (NATSMessage) -> Bool = { _ in true },
        onAnswer: @escaping OnAnswer
    ) async throws {
        let route = Route(
            subject: message.subject,
            accepts: accepts,
            onAnswer: onAnswer,
            isBoundToConnection: message.isBoundToConnection
        )
        let id = try open(route, timeout)
        var message = message
        message.reply = prefix + String(id)
        do {
            try await connection.send(message)
        } catch {
            // If it has been answered meanwhile, by a timeout, that is the result.
            if state.withLock({ $0.routes.removeValue(forKey: id) }) != nil { throw error }
        }
    }

    /// Fails every request to a subject that the server has refused.
    func fail(subject: String, _ error: BridgeError) {
        let ids = state.withLock { state in state.routes.filter { $0.value.subject == subject }.keys }
        for id in ids { end(id, .failure(error)) }
    }

    /// Fails the requests that are not sent again on another connection.
    func failBound() {
        let bound = state.withLock { $0.routes.filter { $0.value.isBoundToConnection } }
        for (id, route) in bound.sorted(by: { $0.key < $1.key }) {
            end(id, .failure(BridgeError(.notAcknowledged, subject: route.subject, "the connection was lost")))
        }
    }

    /// Fails every request, and refuses further ones.
    func close(_ error: BridgeError) async {
        let (ids, subscription) = state.withLock { state in
            state.end = error
            defer { state.subscription = nil }
            return (state.routes.keys.sorted(), state.subscription)
        }
        for id in ids { end(id, .failure(error)) }
        await subscription?.cancel()
    }

    // MARK: Carrying out

    private func open(_ route: Route, _ timeout: Duration) throws -> UInt64 {
        let (id, startsSweeping) = try state.withLock { state in
            if let end = state.end { throw end }
            state.last += 1
            state.routes[state.last] = route
            state.deadlines.add(state.last, in: timeout)
            defer { state.isSweeping = true }
            return (state.last, !state.isSweeping)
        }
        if startsSweeping { sweepLater() }
        return id
    }

    private func end(_ id: UInt64, _ result: Result<NATSMessage, BridgeError>) {
        let route = state.withLock { $0.routes.removeValue(forKey: id) }
        route?.onAnswer(result)
    }

    /// On the thread of the subscription.
    private func received(_ message: NATSMessage) {
        guard let id = UInt64(message.subject.dropFirst(prefix.utf8.count)) else { return }
        // Without the lock, because `accepts` is code of the caller. Without a route, this is the answer to a
        // request that has ended.
        if let accepts = state.withLock({ $0.routes[id]?.accepts }), accepts(message) { end(id, .success(message)) }
    }

    private func sweepLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.sweepInterval) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        let (overdue, goesOn) = state.withLock { state in
            let routes = state.routes
            let overdue = state.deadlines.takeOverdue { routes[$0] != nil }
            state.isSweeping = !state.routes.isEmpty
            return (overdue.compactMap { id in state.routes[id].map { (id, $0.subject) } }, state.isSweeping)
        }
        for (id, subject) in overdue {
            end(id, .failure(BridgeError(.timedOut, subject: subject, "no answer came in time")))
        }
        if goesOn { sweepLater() }
    }
}

/// When requests time out, without a look at those whose turn has not come: requests with one timeout are
/// overdue in the order in which they were made.
struct Deadlines {
    private var queues: [Duration: [(deadline: ContinuousClock.Instant, id: UInt64)]] = [:]

    mutating func add(_ id: UInt64, in timeout: Duration, now: ContinuousClock.Instant = .now) {
        queues[timeout, default: []].append((now.advanced(by: timeout), id))
    }

    /// Removes those that are overdue, and the ended ones in front of them.
    ///
    /// - Complexity: O(*n*) in the number of different timeouts, and in the length of those queues that it removes
    ///   some from.
    mutating func takeOverdue(now: ContinuousClock.Instant = .now, isOpen: (UInt64) -> Bool) -> [UInt64] {
        var overdue: [UInt64] = []
        for (timeout, queue) in queues {
            let taken = queue.prefix { $0.deadline <= now || !isOpen($0.id) }.count
            guard taken > 0 else { continue }
            overdue += queue.prefix(taken).lazy.map(\.id).filter(isOpen)
            queues[timeout] = taken == queue.count ? nil : Array(queue.dropFirst(taken))
        }
        return overdue
    }
}

extension NATSConfiguration {
    /// A subject of its own for replies or deliveries.
    func newInbox() -> String { "\(inboxPrefix).\(randomToken())" }
}

/// 128 random bits, for a subject that cannot be guessed.
func randomToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
}
#endif
