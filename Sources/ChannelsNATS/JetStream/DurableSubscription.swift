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
        /// The stream that stores the subjects, and the stream as it was when this subscription began.
        var stream = ""
        var origin: StreamIdentity?
        /// When a message last arrived, or the consumer was last looked at.
        var lastHeard = ContinuousClock.now
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
        /// The reported statuses that are not known.
        var unknown: Set<String> = []
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
        mutating func settled(bytes: Int, comesAgainAfter delay: Duration?, now: ContinuousClock.Instant = .now) {
            pull.settled(bytes: bytes)
            // A redelivered message may wait for others and for a request. After another acknowledgement
            // wait, it may be redelivered once more.
            let end = delay.map { now + $0 + unsettled.acknowledgementWait * 2 }
            if let end { returned = max(returned ?? end, end) }
        }

        /// Returns the request to make now; nil if there is none.
        mutating func nextRequest(now: ContinuousClock.Instant = .now) -> PullState.Request? {
            if let end = returned, end < now { returned = nil }
            return isClosing ? nil : pull.next(upTo: returned == nil ? nil : largest, now: now)
        }
    }

    let jetStream: JetStream
    let streams: StreamSetup
    let connection: NATSConnection
    let name: String
    let request: ConsumerRequest
    private let onMessage: OnMessage
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
        onMessage: @escaping OnMessage
    ) {
        (self.jetStream, self.streams, self.connection) = (jetStream, streams, connection)
        (self.name, self.request) = (name, request)
        inbox = jetStream.configuration.newInbox() + "."
        self.onMessage = onMessage
        let wait = jetStream.configuration.deliveries.acknowledgementWait
        state = Locked(State(pull: pull, unsettled: UnsettledMessages(acknowledgementWait: wait)))
    }

    /// Subscribes, and creates the consumer if it does not exist.
    ///
    /// - Parameter onMessage: Called on a thread of the C client.
    static func open(
        _ wanted: TransportSubscription,
        as name: String,
        on connection: NATSConnection,
        _ jetStream: JetStream,
        _ streams: StreamSetup,
        onMessage: @escaping OnMessage
    ) async throws -> DurableSubscription {
        let deliveries = jetStream.configuration.deliveries
        let pattern = wanted.pattern.text
        let durable = DurableSubscription(
            jetStream,
            streams,
            connection,
            name,
            ConsumerRequest(name: name, pattern: pattern, from: wanted.start, deliveries),
            PullState(
                Room(
                    messages: min(wanted.prefetchLimit, deliveries.pendingLimit),
                    bytes: wanted.prefetchByteLimit
                )
            ),
            onMessage: onMessage
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
        // While this closes, that a time is over here proves nothing: see ``close()``.
        let (end, isUnavailable) = update { $0.isClosing ? (nil, false) : $0.pull.expire(now: now) }
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
        if connection.isConnected {
            // The time of the last request begins when the server has it: at the latest when it answers. It may have been
            // long on its way, and the server may be silent about its end.
            _ = await connection.flush(until: .now + PullState.requestLife)
            await isQuiet.wait(atMost: PullState.requestLife + PullState.patience, clock: ContinuousClock())
        }
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
            return (result, state.nextRequest(), state.isClosing && !state.pull.isPending)
        }
        if let request { ask(request) }
        if isQuiet { self.isQuiet.open() }
        return result
    }

    /// Returns the pattern and name of an internal subject, for a fault that names it; nil if it belongs to
    /// another consumer.
    func place(of subject: String) -> (pattern: String, name: String)? {
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."))
        guard tokens.contains(where: { $0.elementsEqual(request.consumer.utf8) }) else { return nil }
        return (request.pattern, name)
    }

    private func ask(_ wanted: PullState.Request) {
        let bytes = wanted.bytes.map { ",\"max_bytes\":\($0)" } ?? ""
        let fetch = "{\"batch\":\(wanted.messages)\(bytes),\"expires\":\(PullState.requestLife.nanoseconds)}"
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
        guard let delivery = Delivery(reply), delivery.consumer == request.consumer else { return }
        let message = NATSMessage(received)
        let bytes = message.sizeForServer
        update {
            $0.unsettled.hold(reply, bytes: bytes)
            $0.lastSequence = max($0.lastSequence, delivery.streamSequence)
            $0.lastHeard = .now
            $0.pull.received(bytes: bytes)
        }
        // Stands for a message that the stream has removed.
        if message.isMarker { return settle(reply, .acknowledged) }
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
        let meaning = PullStatus(status, text)
        if update({ $0.pull.received(meaning, of: number) }) { needConsumer() }
        guard meaning == .unknown else { return }
        let isNew = state.withLock { $0.unknown.count < 100 && $0.unknown.insert("\(status) \(text)").inserted }
        guard isNew else { return }
        let detail = "the server says about the durable name \(name): \(status) \(text)"
        jetStream.report(BridgeError(.transportFailure, subject: request.pattern, detail.singleLine))
    }
}
#endif
