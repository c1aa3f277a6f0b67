#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// A durable consumer of a stream, from which the processes that subscribe with its name fetch messages.
///
/// A process requests no more messages and bytes than it has room for. The consumer remains at the server,
/// unless it is temporary.
///
/// A process that ends returns its unsettled messages. The messages of a killed process, and those lost with
/// a connection, are redelivered after the server's acknowledgement wait.
///
/// All mutable state is guarded by `state`.
final class DurableSubscription: Sendable {
    /// Handles a message, on a thread of the C client. The closure settles it, or lets it go with nil.
    typealias OnMessage = @Sendable (NATSMessage, Delivery, @escaping @Sendable (Settlement?) -> Void) -> Void

    struct State {
        var pull: PullState
        /// The size of the largest message that the server accepts.
        var largest = Int.max
        /// Until when messages that this process has not handled may be redelivered.
        var returned: ContinuousClock.Instant?
        /// The stream as it was when this subscription began.
        var origin: StreamIdentity?
        /// The highest sequence in the stream that has been received, or up to which the name had settled
        /// everything when the consumer was last found.
        var lastSequence: UInt64 = 0
        /// The reported differences between the consumer and its declaration.
        var differences: [String] = []
        /// Whether the consumer has to be looked up or created before messages are requested.
        var needsConsumer = false
        /// How often in a row the consumer could not be created, and when to try again.
        var failures = 0
        var nextAttempt = ContinuousClock.now
        var isClosing = false
        /// Why the server refuses requests.
        var obstacle: String?
        var unsettled: UnsettledMessages
        /// The ``NATSConnection/epoch`` of the connection on which the consumer was last found.
        var epoch: Int?
        /// The settlements that wait until the consumer has been found.
        var settlements: [NATSMessage] = []
        /// Nil before this is open, and once it is closed.
        var subscription: NATSSubscription?
        /// Creates the consumer again. Cancelled by ``DurableSubscription/close()``.
        var restarting: Task<Void, Never>?

        /// Frees the room of a message.
        ///
        /// - Parameter delay: After how long it is redelivered, if it was not handled.
        mutating func settled(bytes: Int, comesAgainAfter delay: Duration?) {
            pull.settled(bytes: bytes)
            // A redelivered message may wait for others and for a request. After another acknowledgement
            // wait, it may be redelivered once more.
            let end = delay.map { ContinuousClock.now + $0 + unsettled.acknowledgementWait * 2 }
            if let end { returned = max(returned ?? end, end) }
        }
    }

    let jetStream: JetStream
    let streams: StreamSetup
    let connection: NATSConnection
    let name: String
    let request: ConsumerRequest
    private let onMessage: OnMessage
    let onFailure: @Sendable (BridgeError) -> Void
    let state: Locked<State>
    /// The prefix of the subjects to which the server sends messages and the ends of requests. The number of
    /// a request follows it.
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

    /// Subscribes, and creates the consumer if it does not exist.
    ///
    /// - Parameters:
    ///   - onMessage: Called on a thread of the C client.
    ///   - onFailure: Called for what fails later, in the background.
    static func open(
        _ wanted: TransportSubscription,
        as name: String,
        on connection: NATSConnection,
        _ jetStream: JetStream,
        _ streams: StreamSetup,
        onMessage: @escaping OnMessage,
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
                Room(
                    messages: min(wanted.prefetchLimit, deliveries.pendingLimit),
                    bytes: wanted.prefetchByteLimit
                )
            ),
            onMessage: onMessage,
            onFailure: onFailure
        )
        let subscription = try await NATSSubscription.subscribe(
            to: durable.inbox + "*",
            on: connection,
            handler: { [weak durable] received in
                durable?.received(received)
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

    /// Reports progress, and requests messages again when the time of a request is over. It runs on a queue,
    /// because all tasks of the process may be busy with listeners. It ends with ``close()``.
    private func keepUp() {
        let (isOpen, held, report) = state.withLock { state in
            let (held, report) = state.unsettled.takeOverdue()
            return (state.subscription != nil, held, report)
        }
        guard isOpen else { return }
        // On the next connection, the report would be obsolete.
        for reply in held { connection.sendNow(NATSMessage(subject: reply, payload: Array("+WPI".utf8))) }
        let now = ContinuousClock.now
        let (end, isUnavailable) = update { $0.pull.expire(now: now) }
        if isUnavailable { needConsumer() }
        checkConsumer()
        let pause = now.duration(to: min(end ?? now + PullState.requestLife, report))
        let deadline = DispatchTime.now() + .milliseconds(Int(clamping: pause.milliseconds))
        DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in self?.keepUp() }
    }

    /// Ends the delivery and keeps the consumer. Unsettled messages go to another subscriber immediately.
    ///
    /// It returns when no request is pending, so that no message is on its way here. That takes little more
    /// than a second.
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
            // Returned only now that no request is pending. Without a delay, they would otherwise come back
            // here.
            for reply in state.withLock({ $0.unsettled.takeAll() }) {
                connection.sendNow(NATSMessage(subject: reply, payload: Array("-NAK".utf8)))
            }
        }
    }

    // MARK: Carrying out

    /// Changes the state, and requests messages if there is room now.
    @discardableResult
    func update<Result>(_ body: (inout State) -> Result) -> Result {
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

    /// Returns the pattern and name of an internal subject, for a fault that names it; nil if it belongs to
    /// another consumer.
    func place(of subject: String) -> (pattern: String, name: String)? {
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."))
        guard tokens.contains(where: { $0.elementsEqual(request.config.durableName.utf8) }) else { return nil }
        return (request.config.filterSubject, name)
    }

    private func ask(_ wanted: PullState.Request) {
        let bytes = wanted.bytes.map { ",\"max_bytes\":\($0)" } ?? ""
        let fetch = "{\"batch\":\(wanted.messages)\(bytes),\"expires\":\(wanted.life.nanoseconds)}"
        // Not sent on a later connection, on which the consumer has to be looked up first.
        connection.sendNow(
            NATSMessage(
                subject: "$JS.API.CONSUMER.MSG.NEXT.\(consumer)",
                reply: inbox + String(wanted.number),
                payload: Array(fetch.utf8)
            )
        )
    }

    /// Called on the thread of the subscription.
    private func received(_ received: OpaquePointer) {
        guard let reply = NATSMessage.reply(of: received) else { return ended(NATSMessage(received)) }
        // Anything else is not a delivery. Another client has published it.
        guard let delivery = Delivery(reply), delivery.consumer == request.config.durableName else { return }
        let message = NATSMessage(received)
        let bytes = message.sizeForServer
        update {
            $0.unsettled.hold(reply, bytes: bytes)
            $0.lastSequence = max($0.lastSequence, delivery.streamSequence)
            $0.pull.received(bytes: bytes)
            $0.obstacle = nil
        }
        // Weak, so that a handler that keeps messages does not keep its subscription and connection alive.
        onMessage(message, delivery) { [weak self] settlement in
            if let settlement { self?.settle(reply, settlement) } else { self?.letGo(reply) }
        }
    }

    /// Called when a message can no longer be settled.
    private func letGo(_ reply: String) {
        guard let bytes = state.withLock({ $0.unsettled.letGo(reply) }) else { return }
        update { $0.settled(bytes: bytes, comesAgainAfter: $0.unsettled.acknowledgementWait) }
    }

    private func settle(_ reply: String, _ settlement: Settlement) {
        let (answer, delay): (String, Duration?)
        switch settlement {
        case .acknowledged: (answer, delay) = ("+ACK", nil)
        case .terminated: (answer, delay) = ("+TERM", nil)
        case .retry(let after):
            // Without a delay, the server would redeliver the message immediately, a thousand times a second.
            (answer, delay) = ("-NAK {\"delay\": \(max(after, .milliseconds(1)).nanoseconds)}", after)
        }
        let told = NATSMessage(subject: reply, payload: Array(answer.utf8))
        let (message, waits) = state.withLock { state in
            let message = state.unsettled.take(reply)
            // If the stream was replaced, another message may have this number.
            let waits = state.needsConsumer || state.epoch != connection.epoch
            if waits, message != nil { state.settlements.append(told) }
            return (message, waits)
        }
        guard let message else { return }
        if !waits { connection.sendSoon(told) }
        if message.released == nil { update { $0.settled(bytes: message.bytes, comesAgainAfter: delay) } }
    }

    /// Called on the thread of the subscription when the server says something about a request.
    private func ended(_ message: NATSMessage) {
        guard let number = UInt64(message.subject.dropFirst(inbox.utf8.count)),
            let status = message[header: "Status"]
        else { return }
        let text = message[header: "Description"] ?? ""
        let end: PullState.End
        switch status {
        case "404", "408": end = .over
        case "409" where text.hasPrefix("Message Size Exceeds"): end = .tooLarge
        // The request asked for more than the consumer allows now. Once its time is over, the consumer and
        // its limits are looked up.
        case "409" where text.hasPrefix("Exceeded"): return tell(text)
        default: end = .unavailable
        }
        if update({ $0.pull.ended(number, end) }) { needConsumer() }
    }

    /// Reports why the server delivers nothing. The same reason is not reported again until there was another
    /// one, or a message arrived.
    private func tell(_ text: String) {
        let isNew = state.withLock { state in
            defer { state.obstacle = text }
            return state.obstacle != text
        }
        guard isNew else { return }
        let detail = "the server delivers nothing to the durable name \(name): \(text)"
        onFailure(BridgeError(.settingsDiffer, subject: request.config.filterSubject, detail.singleLine))
    }
}
#endif
