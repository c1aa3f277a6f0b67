#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// A durable consumer of a stream, from which the processes that subscribe with its name fetch messages.
///
/// A process asks for no more messages and bytes than it has room for. The consumer belongs to the server: it
/// is deleted here only if it is temporary.
///
/// What a process that ends has not settled, it returns; what a process that is killed had, or what was sent on a
/// connection that broke, the server delivers again after its acknowledgement wait.
///
/// `state` guards how much has been asked for and heard.
final class DurableSubscription: Sendable {
    /// What is called for each message, on a thread of the C client.
    typealias OnMessage = @Sendable (NATSMessage, Delivery, @escaping @Sendable (Settlement) -> Void) -> Void

    private struct State {
        var pull: PullState
        /// The size of the largest message that the server takes.
        var largest = Int.max
        /// Until when messages may come again that this process has not handled.
        var returned: ContinuousClock.Instant?
        /// The stream when this began.
        var origin: StreamIdentity?
        /// The highest sequence in the stream that has come, or up to which the name had settled everything when the
        /// consumer was last found.
        var lastSequence: UInt64 = 0
        /// How the consumer differs from what is declared, as was reported.
        var differences: [String] = []
        /// Whether the consumer has to be created before messages are asked for.
        var needsConsumer = false
        /// How often in a row it could not be created, and when to try again.
        var failures = 0
        var nextAttempt = ContinuousClock.now
        var isClosing = false
        var unsettled: UnsettledMessages
        /// Nil before it is open, and when it is closed.
        var subscription: NATSSubscription?
        /// Creates the consumer again. Cancelled by ``DurableSubscription/close()``.
        var restarting: Task<Void, Never>?

        /// A message takes up no room any more.
        ///
        /// - Parameter delay: After how long it comes again, if it was not handled.
        mutating func settled(bytes: Int, comesAgainAfter delay: Duration?) {
            pull.settled(bytes: bytes)
            // It waits for others that have come again, and for a request; after as long it may come once more.
            let end = delay.map { ContinuousClock.now + $0 + unsettled.acknowledgementWait * 2 }
            if let end { returned = max(returned ?? end, end) }
        }
    }

    private let jetStream: JetStream
    private let streams: StreamSetup
    private let connection: NATSConnection
    private let name: String
    private let request: ConsumerRequest
    private let onMessage: OnMessage
    private let onFailure: @Sendable (BridgeError) -> Void
    private let state: Locked<State>
    /// The subject to which the server sends messages and ends of requests, whose number follows it.
    private let inbox: String

    /// Opens when no request is pending, after ``close()`` was called.
    private let isQuiet = Latch()

    private init(
        _ jetStream: JetStream,
        _ streams: StreamSetup,
        _ connection: NATSConnection,
        _ name: String,
        _ request: ConsumerRequest,
        _ pull: PullState,
        onMessage: @escaping OnMessage,
        onFailure: @escaping @Sendable (BridgeError) -> Void
    ) {
        (self.jetStream, self.streams, self.connection) = (jetStream, streams, connection)
        (self.name, self.request) = (name, request)
        inbox = jetStream.configuration.newInbox() + "."
        (self.onMessage, self.onFailure) = (onMessage, onFailure)
        let wait = jetStream.configuration.deliveries.acknowledgementWait
        state = Locked(State(pull: pull, unsettled: UnsettledMessages(acknowledgementWait: wait)))
    }

    /// Subscribes and creates the consumer, if it does not exist.
    ///
    /// - Parameters:
    ///   - onMessage: Called on a thread of the C client.
    ///   - onUnreadable: Called there for a message that cannot be read, and was terminated.
    ///   - onFailure: Called for what fails later, in the background.
    static func open(
        _ wanted: TransportSubscription,
        as name: String,
        on connection: NATSConnection,
        _ jetStream: JetStream,
        _ streams: StreamSetup,
        onMessage: @escaping OnMessage,
        onUnreadable: @escaping @Sendable (OpaquePointer) -> Void,
        onFailure: @escaping @Sendable (BridgeError) -> Void
    ) async throws -> DurableSubscription {
        let deliveries = jetStream.configuration.deliveries
        let pattern = wanted.pattern.text
        let stream = try await jetStream.stream(for: pattern)
        let durable = DurableSubscription(
            jetStream,
            streams,
            connection,
            name,
            ConsumerRequest(stream: stream, name: name, pattern: pattern, from: wanted.start, deliveries),
            PullState(
                limit: min(wanted.unsettledLimit, max(1, deliveries.unsettledLimit)),
                byteLimit: wanted.unsettledByteLimit
            ),
            onMessage: onMessage,
            onFailure: onFailure
        )
        let subscription = try await NATSSubscription.subscribe(
            to: durable.inbox + "*",
            on: connection,
            handler: { [weak durable] received in
                durable?.received(received, onUnreadable)
            }
        )
        durable.state.withLock { $0.subscription = subscription }
        do { try await durable.createConsumer() } catch {
            await subscription.cancel()
            throw error
        }
        durable.keepUp()
        return durable
    }

    /// Reports progress, and asks again when the time of a request is over: on a queue, because the tasks of the
    /// process may all be busy in listeners. Ends with ``close()``.
    private func keepUp() {
        let (isOpen, held, report) = state.withLock { state in
            let (held, report) = state.unsettled.takeOverdue()
            return (state.subscription != nil, held, report)
        }
        guard isOpen else { return }
        // On the next connection, the report would be obsolete.
        for reply in held { connection.sendNow(NATSMessage(subject: reply, payload: Array("+WPI".utf8))) }
        checkConsumer()
        let now = ContinuousClock.now
        let end = update { $0.pull.expire(now: now) } ?? now + PullState.requestLife
        let pause = now.duration(to: min(end, report))
        let deadline = DispatchTime.now() + .milliseconds(Int(clamping: pause.milliseconds))
        DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in self?.keepUp() }
    }

    /// Ends the delivery and keeps the consumer. Unsettled messages go to another subscriber immediately.
    ///
    /// Returns when no request is pending, in little more than a second, so that no message is on its way here.
    func close() async {
        update {
            $0.isClosing = true
            $0.pull.stop()
        }
        if connection.isConnected { await isQuiet.wait(atMost: PullState.requestLife * 2, clock: ContinuousClock()) }
        let (subscription, restarting) = state.withLock { state in
            defer { (state.subscription, state.restarting) = (nil, nil) }
            return (state.subscription, state.restarting)
        }
        await subscription?.cancel()
        restarting?.cancel()
        await restarting?.value
        if jetStream.configuration.deliveries.isTemporary {
            connection.sendNow(NATSMessage(subject: "$JS.API.CONSUMER.DELETE.\(consumer)"))
        } else {
            // Now that no more is asked for: without a delay, they would come back.
            for reply in state.withLock({ $0.unsettled.takeAll() }) {
                connection.sendNow(NATSMessage(subject: reply, payload: Array("-NAK".utf8)))
            }
        }
    }

    // MARK: Carrying out

    /// Changes the state, and asks for messages if there is room now.
    @discardableResult
    private func update<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, request, isQuiet) = state.withLock { state in
            let result = body(&state)
            if let time = state.returned, time < .now { state.returned = nil }
            let request = state.isClosing ? nil : state.pull.next(upTo: state.returned == nil ? nil : state.largest)
            return (result, request, state.isClosing && !state.pull.isPending)
        }
        if let request { ask(request) }
        if isQuiet { self.isQuiet.open() }
        return result
    }

    /// What it is, for a fault that names a subject of its own.
    func place(of subject: String) -> (pattern: String, name: String)? {
        guard subject.split(separator: ".").contains(Substring(request.config.durableName)) else { return nil }
        return (request.config.filterSubject, name)
    }

    private func ask(_ wanted: PullState.Request) {
        let bytes = wanted.bytes.map { ",\"max_bytes\":\($0)" } ?? ""
        let expires = PullState.requestLife.nanoseconds
        let fetch = "{\"batch\":\(wanted.messages)\(bytes),\"expires\":\(expires)}"
        // On the next connection, the consumer is looked for first.
        connection.sendNow(
            NATSMessage(
                subject: "$JS.API.CONSUMER.MSG.NEXT.\(consumer)",
                reply: inbox + String(wanted.number),
                payload: Array(fetch.utf8)
            )
        )
    }

    /// On the thread of the subscription.
    private func received(_ received: OpaquePointer, _ onUnreadable: @Sendable (OpaquePointer) -> Void) {
        guard let reply = NATSMessage.reply(of: received) else { return ended(NATSMessage(received)) }
        // Anything else is not a delivery: another client published it.
        guard let delivery = Delivery(reply), delivery.consumer == request.config.durableName else { return }
        let message = NATSMessage(received)
        let bytes = message?.sizeForServer ?? 0
        update {
            $0.unsettled.hold(reply, bytes: bytes)
            $0.lastSequence = max($0.lastSequence, delivery.streamSequence)
            $0.pull.received(bytes: bytes)
        }
        let held = HeldMessage(reply, of: self)
        guard let message else {
            // It cannot be read the next time either.
            held.settle(.terminated)
            return onUnreadable(received)
        }
        onMessage(message, delivery) { held.settle($0) }
    }

    /// A message can no longer be settled.
    func letGo(_ reply: String) {
        guard let bytes = state.withLock({ $0.unsettled.letGo(reply) }) else { return }
        update { $0.settled(bytes: bytes, comesAgainAfter: $0.unsettled.acknowledgementWait) }
    }

    func settle(_ reply: String, _ settlement: Settlement) {
        guard let message = state.withLock({ $0.unsettled.take(reply) }) else { return }
        let (answer, delay): (String, Duration?)
        switch settlement {
        case .acknowledged: (answer, delay) = ("+ACK", nil)
        case .terminated: (answer, delay) = ("+TERM", nil)
        case .retry(let after):
            // Without a delay, the server redelivers immediately: a thousand times a second.
            (answer, delay) = ("-NAK {\"delay\": \(max(after, .milliseconds(1)).nanoseconds)}", after)
        }
        connection.sendSoon(NATSMessage(subject: reply, payload: Array(answer.utf8)))
        if message.released == nil { update { $0.settled(bytes: message.bytes, comesAgainAfter: delay) } }
    }

    /// The server says something about a request. On the thread of the subscription.
    private func ended(_ message: NATSMessage?) {
        guard let message, let number = UInt64(message.subject.dropFirst(inbox.utf8.count)),
            let status = message[header: "Status"]
        else { return }
        let text = message[header: "Description"] ?? ""
        update { state in
            let end: PullState.End
            switch status {
            case "404", "408": end = .over
            case "409" where text.hasPrefix("Message Size Exceeds"): end = .tooLarge
            default: end = .unavailable
            }
            if state.pull.ended(number, end) { state.needsConsumer = true }
        }
    }

    // MARK: The consumer

    /// Between attempts to create it.
    private static let backoff = Backoff(first: .seconds(1), limit: .seconds(10))

    /// Creates the consumer again, and its stream, if the server has lost it.
    private func checkConsumer() {
        guard connection.isConnected else { return }
        state.withLock { state in
            let isDue = state.needsConsumer && state.nextAttempt <= .now
            guard isDue, !state.isClosing, state.restarting == nil else { return }
            state.restarting = Task { [weak self] in
                var hasFailed = false
                do { try await self?.createMissing() } catch {
                    hasFailed = true
                    let error = BridgeError(wrapping: error)
                    if !Task.isCancelled, error.code != .closed { self?.onFailure(error) }
                }
                self?.state.withLock { state in
                    state.restarting = nil
                    state.failures = hasFailed ? state.failures + 1 : 0
                    if hasFailed { state.nextAttempt = .now + Self.backoff.delay(before: state.failures) }
                }
            }
        }
    }

    private func createMissing() async throws {
        noteHeard()
        try await streams.preparing({ try await $0.prepareMessages() }) { try await createConsumer() }
    }

    /// What has come, for whoever looks whether the stream has lost it.
    func noteHeard() {
        let (last, origin) = state.withLock { ($0.lastSequence, $0.origin) }
        jetStream.heard(last, ofStream: request.streamName, origin)
    }

    /// There is another connection: the server may have lost the consumer.
    func restart() {
        update { state in
            state.pull.stop()
            state.needsConsumer = true
            (state.failures, state.nextAttempt) = (0, .now)
        }
        checkConsumer()
    }

    /// Creates the consumer if there is none, and asks for messages from then on. One caller at a time.
    private func createConsumer() async throws {
        update { $0.pull.stop() }
        let epoch = connection.epoch
        let (wanted, origin, isContinued, found, isNew): (ConsumerRequest, StreamIdentity, Bool?, KnownConsumer, Bool)
        do {
            (wanted, origin, isContinued) = try await requestNow()
            (found, isNew) = try await consumer(asWantedBy: wanted)
        } catch let refusal as Refusal {
            throw BridgeError(.unsupported, subject: request.config.filterSubject, refusal.description)
        }
        let differences = wanted.differences(from: found)
        let areNew = update { state in
            let areNew = state.differences != differences
            // Numbers begin again: what is settled now would be a message that the stream has stored since.
            if isContinued == false {
                state.lastSequence = 0
                for bytes in state.unsettled.forgetAll() { state.pull.settled(bytes: bytes) }
            }
            (state.origin, state.differences) = (origin, differences)
            state.lastSequence = max(state.lastSequence, found.settledUpTo)
            // On another connection since, it is looked for once more.
            state.needsConsumer = connection.epoch != epoch
            state.largest = connection.maxPayload
            // By its settings, not by those that it was to have: it would take this process for dead.
            if let wait = found.acknowledgementWait { state.unsettled.acknowledgementWait = wait }
            // A request sent now would be open beside the one that follows then.
            if !state.needsConsumer { state.pull.start() }
            return areNew
        }
        // What is missing with another stream is told of that.
        if isNew, isContinued == true {
            let start = wanted.config.optStartSeq.map { "with message \($0)" } ?? "where it began at first"
            let detail = """
                somebody deleted the durable name \(name) at the server; it begins again \(start), and what was not \
                settled before that may be missing
                """
            onFailure(BridgeError(.messagesLost, subject: request.config.filterSubject, detail.singleLine))
        }
        guard areNew, !differences.isEmpty else { return }
        let detail = "the durable name \(name) is used as it is: \(differences.joined(separator: "; "))"
        onFailure(BridgeError(.settingsDiffer, subject: request.config.filterSubject, detail: detail.singleLine))
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
        guard let origin else { return (request, now, nil) }
        guard origin.isContinued(by: now), last <= now.lastSequence else {
            // It has lost its messages, too: all that it has now is new.
            let beginning = StreamIdentity(created: now.created, lastSequence: 0, subjects: 0)
            return (request.beginning(with: 1), beginning, false)
        }
        // Behind what the name had settled, or this process has heard: to the server, only what follows would be new.
        return (request.config.deliverPolicy == "new" ? request.beginning(with: last + 1) : request, origin, true)
    }

    private var consumer: String { "\(request.streamName).\(request.config.durableName)" }
}
#endif
