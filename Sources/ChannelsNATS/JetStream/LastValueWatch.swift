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
        var consumer: String?
        var nextSequence: UInt64 = 1
        /// How many values were stored when the consumer was created, once that is known, and how many have
        /// been handed over.
        var expected: UInt64?
        var handed: UInt64 = 0
        var revision: UInt64 = 0
        /// How often the bucket had been replaced when the consumer was requested.
        var consumerBucket = 0
        var lastHeard = ContinuousClock.now
        var isBeginning = false
        /// Whether there was a reconnection while a consumer was being created.
        var isStale = false
        var isClosed = false
        /// How often the bucket had been replaced when `onValue` last returned for a value that has not been
        /// lost since. Only used for a single subject.
        var handedOver: Int?
        var subscription: NATSSubscription?
        /// Creates the consumer again. Cancelled by ``close()``.
        var restarting: Task<Void, Never>?

        /// Whether everything that was stored when the consumer was created has been handed over.
        var isComplete: Bool { expected.map { handed >= $0 } ?? false }
    }

    private let subject: String
    private let isOfMany: Bool
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
    private let state = Locked(State())
    /// Opens when the stored values have arrived, or none will.
    private let isHere = Latch()
    private static let heartbeat = Duration.seconds(2)

    init(
        _ subject: String,
        isOfMany: Bool,
        _ session: Session,
        onValue: @escaping @Sendable (NATSMessage, UInt64) -> Void,
        onLoss: @escaping @Sendable () -> Void
    ) {
        (self.subject, self.isOfMany) = (subject, isOfMany)
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
        state.withLock { state in
            state.subscription = subscription
            state.isBeginning = true
        }
        let hasValue = try await create()
        state.withLock { $0.isBeginning = false }
        guard hasValue else { return listenForHeartbeats() }
        await isHere.wait(atMost: jetStream.configuration.requestTimeout, clock: ContinuousClock())
        try Task.checkCancellation()
        let (isComplete, isClosed) = state.withLock { ($0.isComplete, $0.isClosed) }
        if isComplete { return listenForHeartbeats() }
        if isClosed { throw BridgeError(.closed, subject: subject) }
        throw BridgeError(
            .timedOut,
            subject: subject,
            "the stored values did not arrive within \(jetStream.configuration.requestTimeout)"
        )
    }

    /// Starts again with the last values, in the background.
    func restart() {
        state.withLock { state in
            if state.isBeginning { state.isStale = true }
            if state.isClosed || state.isBeginning { return }
            state.isBeginning = true
            state.restarting = Task { [weak self] in await self?.beginAgain() }
        }
    }

    private func beginAgain() async {
        while true {
            do {
                state.withLock { $0.isStale = false }
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
            let isDone = state.withLock { state in
                if state.isStale, !state.isClosed { return false }
                state.isBeginning = false
                state.lastHeard = .now
                return true
            }
            if isDone { return }
        }
    }

    func close() async {
        let (subscription, restarting) = state.withLock { state in
            state.isClosed = true
            defer { (state.subscription, state.restarting) = (nil, nil) }
            return (state.subscription, state.restarting)
        }
        restarting?.cancel()
        await restarting?.value
        if let consumer = state.withLock({ $0.consumer }) { delete(consumer) }
        isHere.open()
        await subscription?.cancel()
    }

    // MARK: Carrying out

    /// - Returns: Whether values will arrive.
    private func create() async throws -> Bool {
        let name = "w\(randomIdentifier())"
        let replacements = streams.bucket.replacements
        let before = state.withLock { state in
            (state.nextSequence, state.expected, state.handed) = (1, nil, 0)
            defer { (state.consumer, state.consumerBucket) = (name, replacements) }
            return state.consumer
        }
        if let before { delete(before) }
        let config = Request.Configuration(name: name, deliverSubject: inbox, filterSubject: subject)
        let request = Request(streamName: stream, config: config)
        let made: KnownConsumer
        do { made = try await jetStream.call("CONSUMER.CREATE.\(stream).\(name).\(subject)", request) } catch {
            // The server has no such consumer, so there is nothing to delete.
            if error is Refusal { state.withLock { $0.consumer = $0.consumer == name ? nil : $0.consumer } }
            throw error
        }
        let expected = UInt64(made.numPending ?? 0) + UInt64(made.delivered?.consumerSeq ?? 0)
        let hasValue = expected > 0
        openIfComplete { $0.expected = expected }
        if !hasValue, !isOfMany, state.withLock({ $0.handedOver.take() }) != nil { onLoss() }
        return hasValue
    }

    private func openIfComplete(_ change: (inout State) -> Void) {
        let isComplete = state.withLock { state in
            change(&state)
            return state.isComplete
        }
        if isComplete { isHere.open() }
    }

    /// Deletes a consumer. If the message is lost, the server removes it because it has no subscriber.
    private func delete(_ consumer: String) {
        connection.sendNow(NATSMessage(subject: "$JS.API.CONSUMER.DELETE.\(stream).\(consumer)"))
    }

    /// Called on the thread of the subscription.
    private func received(_ message: NATSMessage) {
        let delivery = message.reply.flatMap(Delivery.init)
        let lastDelivered = message[header: "Nats-Last-Consumer"].flatMap { UInt64($0) }
        enum Step { case ignore, restart, skip, handOver(revision: UInt64, bucket: Int, isFirst: Bool) }
        let isFirst = message.isStoredIfNone && !isOfMany
        let step = state.withLock { state -> Step in
            guard !state.isClosed else { return .ignore }
            state.lastHeard = .now
            // A value from the previous bucket would be taken for newer than every value of this one.
            let bucket = streams.bucket.replacements
            guard state.consumerBucket == bucket else { return .restart }
            // A heartbeat says how far the consumer has come. One from the previous consumer causes an
            // unneeded restart.
            if delivery == nil, let lastDelivered { return lastDelivered >= state.nextSequence ? .restart : .ignore }
            // It is something else, or a message from the previous consumer.
            guard let delivery, delivery.consumer == state.consumer else { return .ignore }
            guard delivery.consumerSequence == state.nextSequence else { return .restart }
            state.nextSequence += 1
            let revision = streams.bucket.revision(delivery.streamSequence)
            guard revision > state.revision else { return .skip }
            state.revision = revision
            return .handOver(revision: revision, bucket: bucket, isFirst: isFirst && state.handedOver == bucket)
        }
        switch step {
        case .ignore: break
        // A message is missing, or the bucket was replaced.
        case .restart: restart()
        case .skip: openIfComplete { $0.handed += 1 }
        case .handOver(let revision, let bucket, let hasReplacedALostOne):
            if hasReplacedALostOne {
                let detail = "the value was removed from the server, and another process has stored its own"
                jetStream.report(BridgeError(.lastValuesLost, subject: subject, detail))
            }
            onValue(message, revision)
            openIfComplete { state in
                state.handedOver = bucket
                state.handed += 1
            }
        }
    }

    private func listenForHeartbeats() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(Self.heartbeat.milliseconds))) {
            [weak self] in
            guard let self else { return }
            let (isClosed, isSilent) = state.withLock { state in
                (state.isClosed, state.lastHeard.duration(to: .now) > Self.heartbeat * 3)
            }
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
            var idleHeartbeat = LastValueWatch.heartbeat.nanoseconds
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
