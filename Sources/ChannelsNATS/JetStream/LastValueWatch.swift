#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// Follows the last values of the subjects that match a pattern through a consumer that starts with the
/// current values. A late subscriber receives those and then the changes, without a gap.
///
/// The server may forget the consumer after a restart or a change of leaders. A missing sequence number, a
/// missing heartbeat or a reconnection creates a new one, which starts with the last values again. Values
/// that were already delivered are skipped by their revision, because the values of all subjects arrive in
/// one order.
///
/// All mutable state is guarded by `state`.
final class LastValueWatch: Sendable {
    private struct State {
        var watch: WatchState
        var subscription: NATSSubscription?
        /// Creates the consumer again. Cancelled by ``close()``.
        var restarting: Task<Void, Never>?
    }

    private let subject: String
    private let stream: String
    private let jetStream: JetStream
    private let streams: StreamSetup
    private let connection: NATSConnection
    /// Each watch has its own subject, and therefore its own thread, because a server delivers only to a
    /// subject that is subscribed to in exactly that form.
    private let inbox: String
    private let onValue: @Sendable (NATSMessage, UInt64) -> Void
    /// Called when the single subject of a watch no longer has a value.
    private let onLoss: @Sendable () -> Void
    private let state: Locked<State>
    /// Opens when the stored values have arrived, or none will.
    private let isHere = Latch()

    init(
        _ subject: String,
        isOfMany: Bool,
        _ session: Session,
        onValue: @escaping @Sendable (NATSMessage, UInt64) -> Void,
        onLoss: @escaping @Sendable () -> Void
    ) {
        self.subject = subject
        state = Locked(State(watch: WatchState(session.streams.bucket, isOfMany: isOfMany)))
        stream = session.jetStream.configuration.stateStream
        jetStream = session.jetStream
        inbox = session.jetStream.configuration.newInbox()
        streams = session.streams
        self.onLoss = onLoss
        connection = session.connection
        self.onValue = onValue
    }

    /// Returns when the currently stored values have been delivered.
    ///
    /// - Throws: ``BridgeError/Code/timedOut`` if they do not arrive. A caller that continued without them
    ///   would overwrite them with older ones.
    func open() async throws {
        let subscription = try await NATSSubscription.subscribe(to: inbox, on: connection) { [weak self] message in
            self?.received(NATSMessage(message))
        }
        state.withLock { $0.subscription = subscription }
        let hasValue = try await create()
        begin { !$0.hasBegun(.now) }
        guard hasValue else { return listenForHeartbeats() }
        await isHere.wait(atMost: jetStream.configuration.requestTimeout, clock: ContinuousClock())
        try Task.checkCancellation()
        let (isComplete, isClosed) = state.withLock { ($0.watch.isComplete, $0.watch.isClosed) }
        if isComplete { return listenForHeartbeats() }
        if isClosed { throw BridgeError(.closed, subject: subject) }
        throw BridgeError(
            .timedOut,
            subject: subject,
            "the stored values did not arrive within \(jetStream.configuration.requestTimeout)"
        )
    }

    /// Starts again with the last values, in the background.
    func restart() { begin { $0.begin() } }

    private func begin(if begins: (inout WatchState) -> Bool) {
        state.withLock { state in
            if begins(&state.watch) { state.restarting = Task { [weak self] in await self?.beginAgain() } }
        }
    }

    private func beginAgain() async {
        while true {
            do {
                state.withLock { $0.watch.prepare() }
                // Before a value arrives, because the bucket's sequences may have begun again.
                try await streams.checkStates()
                _ = try await create()
            } catch {
                // If the connection is lost again, or the cluster has no leader, the next reconnection or
                // missing heartbeat retries.
                if !Task.isCancelled {
                    // Reported for the watched subject, because the subject of the request differs each time.
                    let code = (error as? BridgeError)?.code ?? .transportFailure
                    jetStream.report(BridgeError(code, subject: subject, underlyingError: error))
                }
            }
            if state.withLock({ $0.watch.hasBegun(.now) }) { return }
        }
    }

    func close() async {
        let (subscription, restarting) = state.withLock { state in
            state.watch.close()
            defer { (state.subscription, state.restarting) = (nil, nil) }
            return (state.subscription, state.restarting)
        }
        restarting?.cancel()
        await restarting?.value
        state.withLock { $0.watch.consumers }.forEach(delete)
        isHere.open()
        await subscription?.cancel()
    }

    // MARK: Carrying out

    /// - Returns: Whether values will arrive.
    private func create() async throws -> Bool {
        let name = "w\(randomIdentifier())"
        state.withLock { $0.watch.request(name) }.forEach(delete)
        let config = Request.Configuration(name: name, deliverSubject: inbox, filterSubject: subject)
        let request = Request(streamName: stream, config: config)
        let made: KnownConsumer
        do { made = try await jetStream.call("CONSUMER.CREATE.\(stream).\(name).\(subject)", request) } catch {
            if error is Refusal { state.withLock { $0.watch.refused() } }
            throw error
        }
        let count = UInt64(made.numPending ?? 0) + UInt64(made.delivered?.consumerSeq ?? 0)
        if openIfComplete({ $0.created(count: count) }) { onLoss() }
        return count > 0
    }

    private func openIfComplete<Result>(_ change: (inout WatchState) -> Result) -> Result {
        let (result, isComplete) = state.withLock { state in (change(&state.watch), state.watch.isComplete) }
        if isComplete { isHere.open() }
        return result
    }

    /// Deletes a consumer. If the message is lost, the server removes it because it has no subscriber.
    private func delete(_ consumer: String) {
        connection.sendNow(NATSMessage(subject: "$JS.API.CONSUMER.DELETE.\(stream).\(consumer)"))
    }

    /// Called on the thread of the subscription.
    private func received(_ message: NATSMessage) {
        let step = state.withLock { state in
            state.watch.received(
                message.reply.flatMap(Delivery.init),
                lastDelivered: message[header: "Nats-Last-Consumer"].flatMap { UInt64($0) },
                isFirst: message.isStoredIfNone,
                .now
            )
        }
        switch step {
        case .ignore: return
        case .restart: return restart()
        case .skip: break
        case .handOver(let revision, _, let isReplaced):
            if isReplaced {
                let detail = "the value was removed from the server, and another process has stored its own"
                jetStream.report(BridgeError(.lastValuesLost, subject: subject, detail))
            }
            onValue(message, revision)
        }
        openIfComplete { $0.handed(step) }
    }

    private func listenForHeartbeats() {
        let heartbeat = Int(WatchState.heartbeat.milliseconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(heartbeat)) {
            [weak self] in
            guard let self else { return }
            let (isClosed, isSilent) = state.withLock { ($0.watch.isClosed, $0.watch.isSilent(.now)) }
            if isClosed { return }
            if isSilent, jetStream.inbox.isConnected { restart() }
            listenForHeartbeats()
        }
    }

    private struct Request: Encodable {
        struct Configuration: Encodable {
            var name: String
            var deliverSubject: String
            var filterSubject: String
            var deliverPolicy = "last_per_subject"
            var ackPolicy = "none"
            var maxDeliver = 1
            var idleHeartbeat = WatchState.heartbeat.nanoseconds
            var inactiveThreshold = Duration.seconds(10).nanoseconds
            var memStorage = true
            var numReplicas = 1
            var replayPolicy = "instant"
        }

        var streamName: String
        var config: Configuration
    }
}
#endif
