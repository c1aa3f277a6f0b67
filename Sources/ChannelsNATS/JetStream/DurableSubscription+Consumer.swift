#if NATS
import Channels
import ChannelsBridge

/// How the consumer of a durable name is found at the server, or created.
extension DurableSubscription {
    /// Between attempts to create it, which are made when the subscription looks after its requests.
    private static let pause = PullState.requestLife / 2

    /// The connection is lost, or the server seems to have lost the consumer. Nothing is asked for before it is looked
    /// for.
    func needConsumer() {
        // Before checking whether the stream has lost received messages: later, it would seem to have done so
        // twice.
        let (last, origin) = state.withLock { state in
            state.pull.stop()
            state.needsConsumer = true
            return (state.lastSequence, state.origin)
        }
        jetStream.heard(last, ofStream: request.streamName, origin)
    }

    /// Creates the consumer again, and its stream, if the server has lost it.
    func checkConsumer() {
        guard connection.isConnected else { return }
        state.withLock { state in
            let isDue = state.needsConsumer && state.nextAttempt <= .now
            guard isDue, !state.isClosing, state.restarting == nil else { return }
            state.restarting = Task { [weak self] in
                var hasFailed = false
                do { try await self?.createMissing() } catch {
                    hasFailed = true
                    let error = BridgeError(wrapping: error)
                    if !Task.isCancelled, error.code != .closed { self?.tell(error) }
                }
                self?.state.withLock { state in
                    state.restarting = nil
                    state.failures = hasFailed ? state.failures + 1 : 0
                    if hasFailed { state.nextAttempt = .now + Self.pause }
                }
            }
        }
    }

    /// Reports why it could not be created: the 1st, 2nd, 4th, 8th … time in a row.
    private func tell(_ error: BridgeError) {
        let count = state.withLock { $0.failures + 1 }
        if count & (count - 1) == 0 { onFailure(error) }
    }

    private func createMissing() async throws {
        try await streams.preparing({ try await $0.prepareMessages() }) { try await createConsumer() }
    }

    /// There is another connection: the server may have lost the consumer, unless it has been found there already.
    func restart() {
        let epoch = connection.epoch
        state.withLock { state in
            if state.epoch != epoch { state.pull.stop() }
            state.needsConsumer = state.needsConsumer || state.epoch != epoch
            (state.failures, state.nextAttempt) = (0, .now)
        }
        checkConsumer()
    }

    /// Creates the consumer if there is none, and asks for messages from then on. One caller at a time.
    func createConsumer() async throws {
        update { $0.pull.stop() }
        let epoch = connection.epoch
        let (wanted, origin, isContinued, found, isNew): (ConsumerRequest, StreamIdentity, Bool?, KnownConsumer, Bool)
        do {
            (wanted, origin, isContinued) = try await requestNow()
            (found, isNew) = try await consumer(asWantedBy: wanted)
        } catch let refusal as Refusal {
            throw BridgeError(wrapping: refusal, subject: request.config.filterSubject)
        }
        let differences = wanted.differences(from: found)
        let (areNew, settlements) = state.withLock { state -> (Bool, [NATSMessage]) in
            let areNew = state.differences != differences
            // Numbers restart: settling now would settle a message stored since.
            if isContinued == false {
                (state.lastSequence, state.settlements) = (0, [])
                for bytes in state.unsettled.forgetAll() { state.pull.settled(bytes: bytes) }
            }
            (state.origin, state.differences) = (origin, differences)
            state.lastSequence = max(state.lastSequence, found.settledUpTo)
            // On another connection since, it is looked for once more.
            state.needsConsumer = connection.epoch != epoch
            state.epoch = epoch
            state.largest = connection.maxPayload
            // By its settings, not by those that it was to have: it would take this process for dead.
            if let wait = found.acknowledgementWait { state.unsettled.acknowledgementWait = wait }
            // An administrator may have made it, and allow less than this would ask for.
            state.pull.allowed = found.allowed
            guard !state.needsConsumer else { return (areNew, []) }
            defer { state.settlements = [] }
            return (areNew, state.settlements)
        }
        await tell(settlements)
        update { state in
            // Otherwise, a request sent now would be open beside the one that follows then.
            if !state.needsConsumer { state.pull.start() }
        }
        // Losses with another stream are reported for that stream.
        if isNew, isContinued == true {
            let start = wanted.config.optStartSeq.map { "with message \($0)" } ?? "where it began at first"
            let detail = """
                somebody deleted the durable name \(name) at the server; it begins again \(start), and what was not \
                settled before that may be missing
                """
            onFailure(BridgeError(.messagesLost, subject: request.config.filterSubject, detail.singleLine))
        }
        guard areNew, !differences.isEmpty else { return }
        let detail = "the durable name \(name) is used unchanged: \(differences.joined(separator: "; "))"
        onFailure(BridgeError(.settingsDiffer, subject: request.config.filterSubject, detail: detail.singleLine))
    }

    /// Tells the server which messages were settled without a connection, and returns when it knows:
    /// otherwise it might redeliver them with the next request.
    private func tell(_ settlements: [NATSMessage]) async {
        for settlement in settlements.dropLast() { connection.sendSoon(settlement) }
        guard let last = settlements.last else { return }
        // It takes them in order, and answers one that has a subject for that.
        _ = try? await jetStream.inbox.request(last, timeout: jetStream.configuration.retryInterval)
    }

    /// The consumer of the name, and whether it was created now. One that exists stays as it is: another service may
    /// have made it, or an operator.
    private func consumer(asWantedBy request: ConsumerRequest) async throws -> (KnownConsumer, isNew: Bool) {
        do { return (try await knownConsumer(), false) } catch let refusal as Refusal where refusal.reason == .notFound
        {}
        do {
            return (try await jetStream.call("CONSUMER.DURABLE.CREATE.\(consumer)", request), true)
        } catch let refusal as Refusal {
            // Another process was faster.
            guard let found = try? await knownConsumer() else { throw refusal }
            return (found, false)
        }
    }

    private func knownConsumer() async throws -> KnownConsumer {
        try await jetStream.call("CONSUMER.INFO.\(consumer)", [String: String]())
    }

    /// What creates the consumer, the stream as it is now, and whether it is the one in which this began; nil if this
    /// has not begun.
    private func requestNow() async throws -> (ConsumerRequest, StreamIdentity, isContinued: Bool?) {
        let (origin, last) = state.withLock { ($0.origin, $0.lastSequence) }
        let now = try await jetStream.identity(ofStream: request.streamName)
        guard var origin else { return (request, now, nil) }
        guard origin.isContinued(by: now), last <= now.lastSequence else {
            // It has lost its messages, too: all that it has now is new.
            let beginning = StreamIdentity(created: now.created, lastSequence: 0, subjects: 0, losses: now.losses)
            return (request.beginning(with: 1), beginning, false)
        }
        // If it has lost messages, then none that were received here.
        origin.losses = now.losses
        // After the messages that the name had settled or this process has received: to the server, only
        // later ones are new.
        return (request.config.deliverPolicy == "new" ? request.beginning(with: last + 1) : request, origin, true)
    }

    var consumer: String { "\(request.streamName).\(request.config.durableName)" }
}
#endif
