#if NATS
import Channels
import ChannelsBridge

/// The state of one connection of a transport.
///
/// `state` guards what has been opened on the connection.
final class Session: Sendable {
    private struct State {
        var subscriptions: [NATSSubscription] = []
        var durables: [DurableSubscription] = []
        var watches: [LastValueWatch] = []
        /// Restores durable subscriptions and watches after a reconnection. Cancelled by the next
        /// reconnection and by ``stopReceiving()``.
        var restoring: Task<Void, Never>?
        /// Checks the states that are watched or stored. Cancelled by ``stopReceiving()``.
        var looking: Task<Void, Never>?
        var isClosed = false
    }

    let connection: NATSConnection
    let inbox: ReplyInbox
    let jetStream: JetStream
    let streams: StreamSetup
    private let state = Locked(State())

    /// - Parameter onEvent: Called for what is found out about streams and consumers in the background.
    init(
        _ connection: NATSConnection,
        _ inbox: ReplyInbox,
        _ configuration: NATSConfiguration,
        onEvent: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.connection = connection
        self.inbox = inbox
        jetStream = JetStream(inbox, configuration, onEvent: onEvent)
        streams = StreamSetup(jetStream, configuration)
    }

    func keep(_ subscription: NATSSubscription) async throws {
        if keep({ $0.subscriptions.append(subscription) }) { return }
        await subscription.cancel()
        throw BridgeError(.closed, subject: subscription.subject)
    }

    func keep(_ durable: DurableSubscription) async throws {
        if keep({ $0.durables.append(durable) }) { return }
        await durable.close()
        throw BridgeError(.closed)
    }

    /// - Returns: Whether the session is open, so that it keeps the watch.
    func keep(_ watch: LastValueWatch) -> Bool {
        lookAfterStates()
        return keep { $0.watches.append(watch) }
    }

    /// Checks from now on whether values were removed from the server.
    func lookAfterStates() {
        _ = keep { state in
            state.looking = state.looking ?? Task { [weak self] in await Self.lookAfterStates(of: { self }) }
        }
    }

    /// - Returns: Whether the session is open.
    private func keep(_ body: (inout State) -> Void) -> Bool {
        state.withLock { state in
            if !state.isClosed { body(&state) }
            return !state.isClosed
        }
    }

    /// The interval of checks whether values were removed from the server.
    private static let look = Duration.seconds(5)

    /// Restarts the watches if values were lost. They do not notice values that are removed without being
    /// replaced, for example because the bucket was purged, or because of an age limit.
    private static func lookAfterStates(of session: () -> Session?) async {
        var losses = session()?.streams.bucket.losses
        while (try? await Task.sleep(for: look)) != nil {
            guard let session = session() else { return }
            // If the server does not answer, a reconnection or a missing heartbeat reports that.
            try? await session.streams.lookAtStates()
            let found = session.streams.bucket.losses
            if found != losses { for watch in session.state.withLock({ $0.watches }) { watch.restart() } }
            losses = found
        }
    }

    func forget(_ watch: LastValueWatch) async {
        await watch.close()
        state.withLock { $0.watches.removeAll { $0 === watch } }
    }

    /// Gives a failure the name of its route, because the subject of an acknowledgement or reply differs each
    /// time.
    func placed(_ event: NATSConnection.Event) -> NATSConnection.Event {
        guard case .failed(let error) = event, let request = error.subject, request.utf8.starts(with: "$JS.".utf8)
        else {
            return event
        }
        let place = state.withLock { $0.durables }.lazy.compactMap { $0.place(of: request) }.first
        let tokens = request.utf8.split(separator: UInt8(ascii: "."))
        let general = tokens.prefix(request.utf8.starts(with: "$JS.ACK.".utf8) ? 4 : 5).map { String(Substring($0)) }
            .joined(separator: ".")
        let details = [place.map { "the durable name \($0.name)" }, error.detail].compactMap(\.self)
        let (subject, detail) = (place?.pattern ?? general, details.joined(separator: ": "))
        let cause = error.underlyingError
        return .failed(BridgeError(error.code, subject: subject, detail: detail, underlyingError: cause))
    }

    /// Called after a reconnection. The connection has subscribed again, but the server may have lost the
    /// streams and their consumers.
    ///
    /// A part that cannot be restored does not hold up the others. It is retried until the session is closed,
    /// or until the next reconnection.
    func restore() {
        jetStream.forgetStreams()
        state.withLock { state in
            guard !state.isClosed else { return }
            let before = state.restoring
            before?.cancel()
            state.restoring = Task { [weak self, streams] in
                // This comes first, because the previous restoration may be waiting for the streams.
                await streams.forget()
                await before?.value
                await self?.restoreAll()
            }
        }
    }

    /// Called when the connection is lost. On the next one, the streams are checked for lost messages before
    /// anything is published or requested.
    func interrupt() {
        jetStream.forgetStreams()
        for durable in state.withLock({ $0.durables }) { durable.needConsumer() }
    }

    private func restoreAll() async {
        let (durables, watches) = state.withLock { ($0.durables, $0.watches) }
        for durable in durables { durable.restart() }
        let backoff = Backoff(first: .milliseconds(250), limit: .seconds(10))
        var attempts = 0
        while !Task.isCancelled, !watches.isEmpty {
            do {
                try await streams.prepare(.states)
                // The bucket is there, so the watches can continue by themselves.
                return watches.forEach { $0.restart() }
            } catch {
                if !Task.isCancelled { jetStream.report(BridgeError(wrapping: error)) }
            }
            attempts += 1
            try? await Task.sleep(for: backoff.delay(before: attempts))
        }
    }

    func limitPrefetch(to limit: Int, of name: String, on pattern: String) {
        let most = min(limit, jetStream.configuration.deliveries.pendingLimit)
        for durable in state.withLock({ $0.durables })
        where durable.name.hasBytes(of: name) && durable.request.pattern.hasBytes(of: pattern) {
            durable.update { $0.pull.room.limit = most }
        }
    }

    /// Ends the subscriptions to requests and to messages that are not durable.
    func drain(until deadline: ContinuousClock.Instant) async {
        let subscriptions = state.withLock { state in
            defer { state.subscriptions = [] }
            return state.subscriptions
        }
        for subscription in subscriptions { await subscription.drain(until: deadline) }
    }

    /// Stops receiving. Unsettled messages are returned to the server.
    func stopReceiving() async {
        let (subscriptions, durables, watches, tasks) = state.withLock { state in
            state.isClosed = true
            defer {
                (state.subscriptions, state.durables, state.watches) = ([], [], [])
                (state.restoring, state.looking) = (nil, nil)
            }
            return (state.subscriptions, state.durables, state.watches, [state.restoring, state.looking])
        }
        for task in tasks { task?.cancel() }
        // This comes first, because the others may be waiting for the streams.
        await streams.close()
        for task in tasks { await task?.value }
        for watch in watches { await watch.close() }
        // Closed concurrently, because each may wait for a second.
        await withTaskGroup(of: Void.self) { group in
            for durable in durables { group.addTask { await durable.close() } }
        }
        for subscription in subscriptions { await subscription.cancel() }
    }
}

extension NATSConfiguration {
    /// The stream of the bucket, as the key-value store of JetStream names it.
    var stateStream: String { "KV_\(stateBucket)" }
    /// The prefix of the subjects of states.
    var statePrefix: String { "$KV.\(stateBucket)." }
}

extension BridgeError {
    /// Creates the error that a transport throws. A refusal of JetStream gets the given subject.
    init(wrapping error: any Error, subject: String? = nil) {
        switch error {
        case let error as BridgeError: self = error
        case let refusal as Refusal:
            self.init(refusal.code(orElse: .unsupported), subject: subject, refusal.description)
        default: self.init(.transportFailure, underlyingError: error)
        }
    }
}
#endif
