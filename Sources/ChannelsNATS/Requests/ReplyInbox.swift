#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// Receives the answers to all requests of a transport, with one subscription and therefore one thread.
///
/// `state` guards the routes.
final class ReplyInbox: Sendable {
    private enum Route {
        /// A request that is being sent; no task waits for it yet.
        case sending(subject: String, deadline: ContinuousClock.Instant, accepts: @Sendable (NATSMessage) -> Bool)
        case waiting(
            subject: String,
            deadline: ContinuousClock.Instant,
            accepts: @Sendable (NATSMessage) -> Bool,
            CheckedContinuation<NATSMessage, any Error>
        )
        /// It ended before a task waited for it.
        case done(Result<NATSMessage, any Error>)

        var subject: String? {
            switch self {
            case .sending(let subject, _, _), .waiting(let subject, _, _, _): subject
            case .done: nil
            }
        }

        var deadline: ContinuousClock.Instant? {
            switch self {
            case .sending(_, let deadline, _), .waiting(_, let deadline, _, _): deadline
            case .done: nil
            }
        }

        var accepts: (@Sendable (NATSMessage) -> Bool)? {
            switch self {
            case .sending(_, _, let accepts), .waiting(_, _, let accepts, _): accepts
            case .done: nil
            }
        }
    }

    private struct State {
        var routes: [UInt64: Route] = [:]
        var last: UInt64 = 0
        var requests = 0
        var isSweeping = false
        var subscription: NATSSubscription?
        var end: BridgeError?
    }

    private let connection: NATSConnection
    private let prefix: String
    private let state = Locked(State())
    /// The precision of timeouts.
    private static let sweepInterval = DispatchTimeInterval.milliseconds(25)

    private init(_ connection: NATSConnection) {
        self.connection = connection
        prefix = "_INBOX.\(randomToken())."
    }

    var isConnected: Bool { connection.isConnected }

    static func open(on connection: NATSConnection) async throws -> ReplyInbox {
        let inbox = ReplyInbox(connection)
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
        let id = try open(.sending(subject: message.subject, deadline: .now.advanced(by: timeout), accepts: accepts))
        var message = message
        message.reply = prefix + String(id)
        do {
            try await connection.send(message)
        } catch {
            forget(id)
            throw error
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early = state.withLock { state -> Result<NATSMessage, any Error>? in
                    switch state.routes[id] {
                    case .sending(let subject, let deadline, let accepts):
                        state.routes[id] = .waiting(
                            subject: subject,
                            deadline: deadline,
                            accepts: accepts,
                            continuation
                        )
                        return nil
                    case .done(let result):
                        state.routes.removeValue(forKey: id)
                        return result
                    case .waiting, nil: return .failure(CancellationError())
                    }
                }
                if let early { continuation.resume(with: early) }
            }
        } onCancel: {
            end(id, .failure(CancellationError()))
        }
    }

    /// Fails every request to a subject that the server has refused.
    func fail(subject: String, _ error: BridgeError) {
        let ids = state.withLock { state in state.routes.filter { $0.value.subject == subject }.keys }
        for id in ids { end(id, .failure(error)) }
    }

    /// Fails every request, and refuses further ones.
    func close(_ error: BridgeError) async {
        let (ids, subscription) = state.withLock { state in
            state.end = error
            defer { state.subscription = nil }
            return (Array(state.routes.keys), state.subscription)
        }
        for id in ids { end(id, .failure(error)) }
        await subscription?.cancel()
    }

    // MARK: Carrying out

    private func open(_ route: Route) throws -> UInt64 {
        let (id, startsSweeping) = try state.withLock { state in
            if let end = state.end { throw end }
            state.last += 1
            state.routes[state.last] = route
            state.requests += 1
            defer { state.isSweeping = true }
            return (state.last, !state.isSweeping)
        }
        if startsSweeping { sweepLater() }
        return id
    }

    private func forget(_ id: UInt64) {
        state.withLock { state in
            if state.routes.removeValue(forKey: id)?.deadline != nil { state.requests -= 1 }
        }
    }

    private func end(_ id: UInt64, _ result: Result<NATSMessage, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<NATSMessage, any Error>? in
            switch state.routes[id] {
            case .sending:
                state.requests -= 1
                state.routes[id] = .done(result)
                return nil
            case .waiting(_, _, _, let continuation):
                state.requests -= 1
                state.routes.removeValue(forKey: id)
                return continuation
            case .done, nil: return nil
            }
        }
        continuation?.resume(with: result)
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
        let now = ContinuousClock.now
        let (overdue, goesOn) = state.withLock { state in
            var overdue: [(UInt64, String)] = []
            for (id, route) in state.routes {
                if let deadline = route.deadline, let subject = route.subject, deadline <= now {
                    overdue.append((id, subject))
                }
            }
            state.isSweeping = state.requests > 0
            return (overdue, state.isSweeping)
        }
        for (id, subject) in overdue {
            end(id, .failure(BridgeError(.timedOut, subject: subject, "no answer came in time")))
        }
        if goesOn { sweepLater() }
    }
}

/// 128 random bits, for a subject that cannot be guessed.
func randomToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
}
#endif
