#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch
import Foundation

/// Receives the answers to all requests of a transport with one subscription, and therefore one thread.
///
/// All mutable state is guarded by `state`. `onAnswer` is called without its lock.
final class ReplyInbox: Sendable {
    /// Receives an answer. The message of the C client is valid only during the call. If there is no
    /// responder, the failure is `noResponder`.
    typealias OnAnswer = @Sendable (Result<OpaquePointer, BridgeError>) -> Void

    private struct Route {
        let subject: String
        /// Whether a message is the answer; nil if any message is.
        let accepts: (@Sendable (NATSMessage) -> Bool)?
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
            [weak inbox] message in inbox?.received(message)
        }
        inbox.state.withLock { $0.subscription = subscription }
        return inbox
    }

    /// Sends a request and waits for an answer.
    ///
    /// - Parameter accepts: Returns whether a message is the answer; others are ignored.
    /// - Throws: ``BridgeError/Code/transportFailure`` if the answer cannot be read.
    func request(
        _ message: NATSMessage,
        timeout: Duration,
        accepts: (@Sendable (NATSMessage) -> Bool)? = nil
    ) async throws -> NATSMessage {
        let first = FirstResult<NATSMessage>()
        let subject = message.subject
        try await send(message, timeout: timeout, accepts: accepts) { answer in
            let copy = Result {
                let message = NATSMessage(try answer.get())
                // A header that was left out may have said that the answer is an error.
                guard message.problem == nil else { throw BridgeError.unreadable("the answer", on: subject) }
                return message
            }
            first.finish(copy)
        }
        return try await first.valueUnlessCancelled()
    }

    /// Sends a request, and returns when it is in the outbox.
    ///
    /// - Parameters:
    ///   - accepts: Returns whether a message is the answer; others are ignored.
    ///   - onAnswer: Called once, on any thread, unless this throws. It must not block.
    func send(
        _ message: NATSMessage,
        timeout: Duration,
        accepts: (@Sendable (NATSMessage) -> Bool)? = nil,
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
            // Usually there is space: then no suspension has to be prepared.
            if try !connection.sendIfSpace(message) { try await connection.send(message) }
        } catch {
            // If the route is gone, a timeout was the result.
            if state.withLock({ $0.routes.removeValue(forKey: id) }) != nil { throw error }
        }
    }

    /// Fails every request to a subject that the server has refused.
    ///
    /// - Returns: Whether there was any such request.
    func failRequests(because event: NATSConnection.Event) -> Bool {
        guard case .failed(let error) = event, error.refusesMessage, let subject = error.subject else {
            return false
        }
        let ids = state.withLock { state in state.routes.filter { $0.value.subject == subject }.keys }
        for id in ids { end(id, .failure(error)) }
        return !ids.isEmpty
    }

    /// Fails the requests that are bound to the connection.
    func failBound() {
        let bound = state.withLock { $0.routes.filter { $0.value.isBoundToConnection } }
        for (id, route) in bound.sorted(by: { $0.key < $1.key }) {
            end(id, .failure(BridgeError(.notAcknowledged, subject: route.subject, "the connection was lost")))
        }
    }

    /// Fails all requests, and refuses further ones.
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

    private func end(_ id: UInt64, _ result: Result<OpaquePointer, BridgeError>) {
        let route = state.withLock { $0.routes.removeValue(forKey: id) }
        route?.onAnswer(result)
    }

    /// Called on the thread of the subscription.
    private func received(_ received: OpaquePointer) {
        guard let id = number(natsMsg_GetSubject(received)) else { return }
        // If there is no route, this is the answer to a request that has ended.
        let found = state.withLock { state -> Route? in
            guard let route = state.routes[id] else { return nil }
            if route.accepts == nil { state.routes[id] = nil }
            return route
        }
        guard let found else { return }
        let answer: Result<OpaquePointer, BridgeError> =
            natsMsg_IsNoResponders(received)
            ? .failure(BridgeError(.noResponder, subject: found.subject)) : .success(received)
        guard let accepts = found.accepts else { return found.onAnswer(answer) }
        // Called without the lock, because it is code of the caller.
        if accepts(NATSMessage(received)) { end(id, answer) }
    }

    /// Returns the number after the prefix; nil for any other subject, which only a defective server would
    /// send here.
    private func number(_ subject: UnsafePointer<CChar>?) -> UInt64? {
        // Both are C strings. A subject that begins with the prefix is at least as long, and ends with a zero
        // byte.
        guard let subject, strncmp(subject, prefix, prefix.utf8.count) == 0 else { return nil }
        let digits = subject + prefix.utf8.count
        return UInt64(digits: UnsafeRawBufferPointer(start: digits, count: strlen(digits)))
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
            end(id, .failure(BridgeError(.timedOut, subject: subject, "no answer arrived in time")))
        }
        if goesOn { sweepLater() }
    }
}

/// When requests time out. Requests with the same timeout become overdue in the order in which they were
/// made, so the others need not be checked.
struct Deadlines {
    private var queues: [Duration: [(deadline: ContinuousClock.Instant, id: UInt64)]] = [:]

    mutating func add(_ id: UInt64, in timeout: Duration, now: ContinuousClock.Instant = .now) {
        queues[timeout, default: []].append((now.advanced(by: timeout), id))
    }

    /// Removes and returns overdue requests, and removes ended ones before them.
    ///
    /// - Complexity: O(*n*) in the number of different timeouts, and in the length of the queues from which
    ///   requests are removed.
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
    /// A new subject for replies or deliveries.
    func newInbox() -> String { "\(inboxPrefix).\(randomIdentifier())" }
}
#endif
