#if NATS
import Channels
import ChannelsBridge

/// Finds the consumer of a durable name at the server, or creates it.
extension DurableSubscription {
    /// The pause between attempts to create it. They are made when the subscription checks its requests.
    private static let pause = PullState.requestLife / 2

    /// Called when the connection is lost, or the server seems to have lost the consumer. Nothing is
    /// requested until the consumer has been looked up.
    func needConsumer() {
        // Before the stream is checked for lost messages, because afterwards it would seem to have lost them
        // twice.
        let (last, stream, origin) = state.withLock { state in
            state.pull.stop()
            state.needsConsumer = true
            return (state.lastSequence, state.stream, state.origin)
        }
        jetStream.heard(last, ofStream: stream, origin)
    }

    /// Creates the consumer again, and its stream, if the server has lost it, and looks at it if nothing has come
    /// for a while.
    func checkConsumer() {
        guard connection.isConnected else { return }
        state.withLock { state in
            let isSilent = !state.needsConsumer && state.lastHeard + jetStream.configuration.requestTimeout * 2 <= .now
            let isDue = isSilent || state.needsConsumer && state.nextAttempt <= .now
            guard isDue, !state.isClosing, state.restarting == nil else { return }
            state.lastHeard = .now
            state.restarting = Task { [weak self] in
                var hasFailed = false
                do { try await isSilent ? self?.lookAgain() : self?.createMissing() } catch {
                    hasFailed = true
                    let error = BridgeError(wrapping: error)
                    if !Task.isCancelled, ![.closed, .settingsDiffer].contains(error.code) { self?.tell(error) }
                }
                self?.state.withLock { state in
                    state.restarting = nil
                    state.failures = hasFailed ? state.failures + 1 : 0
                    if hasFailed { state.nextAttempt = .now + Self.pause }
                }
            }
        }
    }

    /// Reports why the consumer could not be created, at the 1st, 2nd, 4th, 8th … failure in a row.
    private func tell(_ error: BridgeError) {
        let count = state.withLock { $0.failures + 1 }
        if count & (count - 1) == 0 { jetStream.report(error) }
    }

    /// Looks whether an administrator has moved the subjects to another stream, or changed the consumer.
    private func lookAgain() async throws {
        do {
            let (stream, found) = (try await jetStream.stream(for: request.pattern), try await knownConsumer(consumer))
            guard stream != self.stream else {
                _ = try differences(from: found, request)
                return
            }
            // First comes what is left for the name in the stream where the subjects were.
            if found.numPending == 0, found.numAckPending == 0 { needConsumer() }
        } catch let refusal as Refusal where refusal.reason == .notFound { needConsumer() } catch let error
            as BridgeError
            where error.code == .notStored
        { needConsumer() }
    }

    /// Describes the settings that differ at the server. Throws, and ends the run, if the consumer cannot be used.
    private func differences(from found: KnownConsumer, _ wanted: ConsumerRequest) throws -> [String] {
        let largest = state.withLock { $0.pull.largest }
        let (harm, harmless) = wanted.differences(from: found.config, requesting: largest)
        guard let harm else { return harmless }
        throw jetStream.unusable("the durable name \(name)", subject: request.pattern, because: harm)
    }

    private func createMissing() async throws {
        try await streams.preparing(.messages) { try await createConsumer() }
    }

    /// Called on another connection. The server may have lost the consumer, unless it has already been found
    /// on this connection.
    func restart() {
        let epoch = connection.epoch
        state.withLock { state in
            if state.epoch != epoch { state.pull.stop() }
            state.needsConsumer = state.needsConsumer || state.epoch != epoch
            (state.failures, state.nextAttempt) = (0, .now)
        }
        checkConsumer()
    }

    /// Creates the consumer if there is none, and then requests messages. Only one caller may be in it at a
    /// time.
    func createConsumer() async throws {
        update { $0.pull.stop() }
        let epoch = connection.epoch
        let (wanted, origin, isContinued, found, isNew): (ConsumerRequest, StreamIdentity, Bool?, KnownConsumer, Bool)
        do {
            (wanted, origin, isContinued) = try await requestNow()
            (found, isNew) = try await consumer(asWantedBy: wanted)
        } catch let refusal as Refusal {
            throw BridgeError(wrapping: refusal, subject: request.pattern)
        }
        let differences = try differences(from: found, wanted)
        let (before, areNew, settlements) = state.withLock { state -> (String, Bool, [NATSMessage]) in
            let (before, areNew) = (state.stream, state.differences != differences)
            state.stream = wanted.streamName
            // The numbers have restarted, so settling an old message would settle one stored since.
            if isContinued == false {
                (state.lastSequence, state.settlements) = (0, [])
                for bytes in state.unsettled.forgetAll() { state.pull.settled(bytes: bytes) }
            }
            (state.origin, state.differences) = (origin, differences)
            state.lastSequence = max(state.lastSequence, found.settledUpTo)
            // If there is another connection by now, the consumer is looked up again.
            state.needsConsumer = connection.epoch != epoch
            state.epoch = epoch
            state.largest = connection.maxPayload
            // The consumer's own setting, because with another one the server could take this process for
            // dead.
            if let wait = found.acknowledgementWait { state.unsettled.acknowledgementWait = wait }
            guard !state.needsConsumer else { return (before, areNew, []) }
            defer { state.settlements = [] }
            return (before, areNew, state.settlements)
        }
        await tell(settlements)
        update { state in
            // If it is looked up again, the request follows then. One sent now would be a second pending
            // request.
            if !state.needsConsumer { state.pull.start() }
        }
        // If the stream was replaced, the loss is reported for the stream.
        if isNew, isContinued == true {
            let start = wanted.firstSequence.map { "with message \($0)" } ?? "where it began at first"
            let detail = """
                somebody deleted the durable name \(name) at the server; it begins again \(start), and what was not \
                settled before that may be missing
                """
            jetStream.report(BridgeError(.messagesLost, subject: request.pattern, detail.singleLine))
        }
        if ![wanted.streamName, ""].contains(before) {
            let detail = """
                the stream \(wanted.streamName) stores it now instead of \(before); what \(name) has not handled of \(before) is not \
                delivered any more
                """
            jetStream.report(BridgeError(.settingsDiffer, subject: request.pattern, detail.singleLine))
        }
        guard areNew, !differences.isEmpty else { return }
        let detail = "the durable name \(name) is used unchanged: \(differences.joined(separator: "; "))"
        jetStream.report(BridgeError(.settingsDiffer, subject: request.pattern, detail: detail.singleLine))
    }

    /// Tells the server which messages were settled without a connection, and returns when it knows.
    /// Otherwise it might redeliver them with the next request.
    private func tell(_ settlements: [NATSMessage]) async {
        for settlement in settlements.dropLast() { connection.sendSoon(settlement) }
        guard let last = settlements.last else { return }
        // The server handles them in order, and answers the last one because it has a reply subject.
        _ = try? await jetStream.inbox.request(last, timeout: jetStream.configuration.retryInterval)
    }

    /// Returns the consumer of the name, and whether it was created now. An existing one stays as it is,
    /// because another service or an operator may have created it.
    private func consumer(asWantedBy request: ConsumerRequest) async throws -> (KnownConsumer, isNew: Bool) {
        let consumer = "\(request.streamName).\(request.consumer)"
        do { return (try await knownConsumer(consumer), false) } catch let refusal as Refusal
            where refusal.reason == .notFound
        {}
        do {
            return (try await jetStream.call("CONSUMER.DURABLE.CREATE.\(consumer)", request), true)
        } catch let refusal as Refusal {
            // Another process may have been faster.
            guard let found = try? await knownConsumer(consumer) else { throw refusal }
            return (found, false)
        }
    }

    private func knownConsumer(_ consumer: String) async throws -> KnownConsumer {
        try await jetStream.call("CONSUMER.INFO.\(consumer)", [String: String]())
    }

    /// Returns the request that creates the consumer, the stream as it is now, and whether it is the stream
    /// in which this subscription began (nil if it has not begun).
    private func requestNow() async throws -> (ConsumerRequest, StreamIdentity, isContinued: Bool?) {
        var request = request
        request.streamName = try await jetStream.stream(for: request.pattern)
        let (stream, origin, last) = state.withLock { ($0.stream, $0.origin, $0.lastSequence) }
        let now = try await jetStream.identity(ofStream: request.streamName)
        guard var origin else { return (request, now, nil) }
        guard stream == request.streamName, origin.isContinued(by: now), last <= now.lastSequence else {
            // It is another stream, or has lost its messages, so everything that it has now is new.
            let beginning = StreamIdentity(created: now.created, lastSequence: 0, subjects: 0, losses: now.losses)
            return (request.beginning(with: 1), beginning, false)
        }
        // If the stream has lost messages, none of them had been received here.
        origin.losses = now.losses
        // The consumer begins after the messages that the name had settled or this process has received. With
        // `new`, the server would skip those stored since.
        return (request.beginsWithNew ? request.beginning(with: last + 1) : request, origin, true)
    }

    private var stream: String { state.withLock { $0.stream } }
    var consumer: String { "\(stream).\(request.consumer)" }
}
#endif
