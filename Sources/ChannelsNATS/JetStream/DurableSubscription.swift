#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// A durable consumer of a stream, from which the processes that subscribe with its name fetch messages.
///
/// A process asks for no more messages and bytes than it has room for. The consumer belongs to the server: it
/// is deleted here only if it is temporary.
///
/// `state` guards how much has been asked for, and when the server was last heard.
final class DurableSubscription: Sendable {
    /// What is called for each message, on a thread of the C client.
    typealias OnMessage = @Sendable (NATSMessage, Delivery, @escaping @Sendable (Settlement) -> Void) -> Void

    let jetStream: JetStream
    private let streams: StreamSetup
    let connection: NATSConnection
    let request: ConsumerRequest
    private let onMessage: OnMessage
    private let onFailure: @Sendable (BridgeError) -> Void
    let state: Locked<State>
    /// The subject to which the server sends messages and ends of requests, whose number follows it.
    private let inbox: String

    /// Opens when no request is pending, after ``close()`` was called.
    private let isQuiet = Latch()

    /// How long the server keeps a request. Short, because ``close()`` waits for its end: nats-server 2.9
    /// loses its place if messages are returned while it still has a request of a subscriber that has gone.
    static let requestLife = Duration.seconds(1)

    private init(
        _ jetStream: JetStream,
        _ streams: StreamSetup,
        _ connection: NATSConnection,
        _ request: ConsumerRequest,
        _ pull: PullState,
        onMessage: @escaping OnMessage,
        onFailure: @escaping @Sendable (BridgeError) -> Void
    ) {
        (self.jetStream, self.streams) = (jetStream, streams)
        self.connection = connection
        self.request = request
        inbox = jetStream.configuration.newInbox() + "."
        (self.onMessage, self.onFailure) = (onMessage, onFailure)
        state = Locked(State(pull: pull))
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
        onUnreadable: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (BridgeError) -> Void
    ) async throws -> DurableSubscription {
        let deliveries = jetStream.configuration.deliveries
        let stream = try await jetStream.stream(for: wanted.pattern.text)
        let durable = DurableSubscription(
            jetStream,
            streams,
            connection,
            ConsumerRequest(
                stream: stream,
                name: name,
                pattern: wanted.pattern.text,
                from: wanted.start,
                deliveries
            ),
            PullState(
                limit: min(wanted.unsettledLimit, max(1, deliveries.unsettledLimit)),
                byteLimit: wanted.unsettledByteLimit
            ),
            onMessage: onMessage,
            onFailure: onFailure
        )
        let unsettled = UnsettledMessages(connection, acknowledgementWait: deliveries.acknowledgementWait) {
            [weak durable] bytes, delay in
            durable?.update {
                $0.pull.settled(bytes: bytes)
                // It waits for others that have come again, and for a request; after as long it may come once more.
                if let delay { $0.expectAgain(until: .now + delay + deliveries.acknowledgementWait * 2) }
            }
        }
        let subscription = try await NATSSubscription.subscribe(
            to: durable.inbox + "*",
            on: connection,
            libraryHandler: { [weak durable] received in
                durable?.received(received, unsettled, onUnreadable)
            }
        )
        do {
            let takeover = try await durable.takeOver()
            durable.begin(subscription, unsettled, takeover, deliveries.acknowledgementWait / 3)
        } catch {
            await subscription.cancel()
            throw error
        }
        return durable
    }

    private func begin(
        _ subscription: NATSSubscription,
        _ unsettled: UnsettledMessages,
        _ takeover: Takeover<Arrival>,
        _ reportInterval: Duration
    ) {
        // Three reports in the acknowledgement wait, or a look at the server each second.
        let interval = DispatchTimeInterval.milliseconds(
            Int(clamping: min(Self.requestLife, reportInterval).milliseconds)
        )
        update {
            ($0.subscription, $0.unsettled) = (subscription, unsettled)
            ($0.began, $0.lastHeard) = (.now, .now)
            $0.takeover = takeover
            $0.largest = connection.maxPayload
            $0.pull.start()
        }
        keepUp(reportInterval, every: interval)
    }

    /// Reports progress, and notices what the server has lost: on a queue, because the tasks of the process may
    /// all be busy in listeners. Ends with ``close()``.
    private func keepUp(_ reportInterval: Duration, every interval: DispatchTimeInterval) {
        DispatchQueue.global().asyncAfter(deadline: .now() + interval) { [weak self] in
            guard let self, let unsettled = state.withLock({ $0.unsettled }) else { return }
            unsettled.reportProgress(ifLastBefore: .now - reportInterval)
            checkServer()
            checkTakeover()
            keepUp(reportInterval, every: interval)
        }
    }

    /// Ends the delivery and keeps the consumer. Unsettled messages go to another subscriber immediately.
    ///
    /// Returns when no request is pending, in a second at most, so that no message is on its way here.
    func close() async {
        update {
            $0.isClosing = true
            $0.pull.stop()
        }
        if connection.isConnected { await isQuiet.wait(atMost: Self.requestLife * 2, clock: ContinuousClock()) }
        let (subscription, presence, unsettled, tasks) = state.withLock { state in
            defer {
                (state.subscription, state.unsettled, state.restarting, state.looking) = (nil, nil, nil, nil)
                state.presence = nil
            }
            return (state.subscription, state.presence, state.unsettled, [state.restarting, state.looking])
        }
        await subscription?.cancel()
        for task in tasks { task?.cancel() }
        for task in tasks { await task?.value }
        if jetStream.configuration.deliveries.isTemporary {
            var message = NATSMessage(subject: "$JS.API.CONSUMER.DELETE.\(consumer)")
            message.isBoundToConnection = true
            connection.sendSoon(message)
        } else if unsettled?.giveBack() == true {
            await processes.waitForServer()
        }
        await presence?.cancel()
    }

    // MARK: Carrying out

    /// Changes the state, and asks for messages if there is room now.
    @discardableResult
    func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        let (result, request, isQuiet) = try state.withLock { state in
            let result = try body(&state)
            let request = state.isClosing ? nil : state.nextRequest()
            // The server has been silent since then.
            if request != nil { (state.lastHeard, state.lastAsked) = (.now, .now) }
            return (result, request, state.isClosing && !state.pull.isPending)
        }
        if let request { ask(request) }
        if isQuiet { self.isQuiet.open() }
        return result
    }

    private func ask(_ wanted: PullState.Request) {
        let fetch = FetchRequest(wanted, expires: Self.requestLife)
        var message = NATSMessage(
            subject: "$JS.API.CONSUMER.MSG.NEXT.\(consumer)",
            reply: inbox + String(wanted.number),
            payload: fetch.json
        )
        // On the next one, it is first found out what was lost with this one.
        message.isBoundToConnection = true
        connection.sendSoon(message)
    }

    /// On the thread of the subscription.
    private func received(
        _ received: OpaquePointer,
        _ unsettled: UnsettledMessages,
        _ onUnreadable: @Sendable () -> Void
    ) {
        guard let reply = NATSMessage.reply(of: received) else { return ended(NATSMessage(received)) }
        // Anything else is not a delivery: another client published it.
        guard let delivery = Delivery(reply), delivery.consumer == request.config.durableName else { return }
        let message = NATSMessage(received)
        let bytes = message?.sizeForServer ?? 0
        let held = unsettled.hold(reply, bytes: bytes)
        guard let message else {
            update { $0.received(delivery, bytes: bytes) }
            // It cannot be read the next time either.
            held.settle(.terminated)
            return onUnreadable()
        }
        let arrival = Arrival(message: message, delivery: delivery, held: held, bytes: bytes)
        guard let passed = update({ $0.received(arrival) }) else {
            return onMessage(message, delivery) { held.settle($0) }
        }
        passOn(passed)
        if passed.isEmpty { checkTakeover() }
    }

    func passOn(_ arrivals: [Arrival]) {
        for arrival in arrivals { onMessage(arrival.message, arrival.delivery) { arrival.held.settle($0) } }
    }

    /// The server says something about a request. On the thread of the subscription.
    private func ended(_ message: NATSMessage?) {
        guard let message, let number = UInt64(message.subject.dropFirst(inbox.utf8.count)),
            let status = message[header: "Status"]
        else { return }
        let text = message[header: "Description"] ?? ""
        let passed = update { state in
            let end: PullState.End
            switch status {
            case "404", "408": end = .over
            case "409" where text.hasPrefix("Message Size Exceeds"): end = .tooLarge
            default: end = .unavailable
            }
            return state.ended(number, end)
        }
        passOn(passed)
    }

    /// Creates the consumer again if the server has lost it, and asks again if a request was lost.
    private func checkServer() {
        guard connection.isConnected else { return }
        state.withLock { state in
            guard !state.isClosing, !state.isRestoring, state.restarting == nil else { return }
            let isSilent = state.lastHeard.duration(to: .now) > Self.requestLife * 3
            if isSilent, state.pull.isPending {
                // The connection may turn out to be lost: then this many messages may have been, too.
                state.run.lost(askedFor: state.pull.askedFor)
                state.needsConsumer = state.pull.lost()
            }
            guard state.needsConsumer else { return }
            state.restarting = Task { [weak self] in
                // What fails is tried again at the next check.
                do { try await self?.createMissing() } catch {
                    let error = BridgeError(wrapping: error)
                    if !Task.isCancelled, error.code != .closed { self?.onFailure(error) }
                }
                self?.state.withLock { $0.restarting = nil }
            }
        }
    }

    /// Creates the consumer, and its stream if that has been deleted.
    private func createMissing() async throws {
        try await streams.preparing({ try await $0.prepareMessages() }) { try await createAgain() }
    }

    /// A server that has lost its storage has lost the consumer.
    ///
    /// - Returns: What it has delivered to others before.
    func createConsumer(_ request: ConsumerRequest) async throws -> ConsumerState {
        do {
            do {
                return try await jetStream.call("CONSUMER.DURABLE.CREATE.\(consumer)", request)
            } catch let refusal as Refusal where refusal.isChangedStart {
                // It goes on where it is; the rest may be updated.
                let known: KnownConsumer = try await jetStream.call("CONSUMER.INFO.\(consumer)", [String: String]())
                return try await jetStream.call("CONSUMER.DURABLE.CREATE.\(consumer)", request.beginning(as: known))
            }
        } catch let refusal as Refusal where refusal.reason == .nameTaken {
            // It exists and cannot be updated in this way, because others are using it.
            return try await knownState()
        } catch let refusal as Refusal {
            throw BridgeError(.unsupported, subject: request.config.filterSubject, refusal.description)
        }
    }

    func knownState() async throws -> ConsumerState {
        try await jetStream.call("CONSUMER.INFO.\(consumer)", [String: String]())
    }

    private var consumer: String { "\(request.streamName).\(request.config.durableName)" }
}
#endif
