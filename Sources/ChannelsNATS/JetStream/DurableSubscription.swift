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

    private struct State {
        var pull: PullState
        var lastHeard = ContinuousClock.now
        /// Whether the consumer has to be created before messages are asked for.
        var needsConsumer = false
        var isClosing = false
        var subscription: NATSSubscription?
        var unsettled: UnsettledMessages?
        /// Creates the consumer again. Cancelled by ``close()``.
        var restarting: Task<Void, Never>?
    }

    private let jetStream: JetStream
    private let connection: NATSConnection
    private let request: ConsumerRequest
    private let onFailure: @Sendable (BridgeError) -> Void
    private let state: Locked<State>
    /// The subject to which the server sends messages and ends of requests, whose number follows it.
    private let inbox: String

    /// Opens when no request is pending, after ``close()`` was called.
    private let isQuiet = Latch()

    /// How long the server keeps a request. Short, because ``close()`` waits for its end: nats-server 2.9
    /// loses its place if messages are returned while it still has a request of a subscriber that has gone.
    private static let requestLife = Duration.seconds(1)

    private init(
        _ jetStream: JetStream,
        _ connection: NATSConnection,
        _ request: ConsumerRequest,
        _ pull: PullState,
        onFailure: @escaping @Sendable (BridgeError) -> Void
    ) {
        self.jetStream = jetStream
        self.connection = connection
        self.request = request
        inbox = jetStream.configuration.newInbox() + "."
        self.onFailure = onFailure
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
        onMessage: @escaping OnMessage,
        onUnreadable: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (BridgeError) -> Void
    ) async throws -> DurableSubscription {
        let deliveries = jetStream.configuration.deliveries
        let stream = try await jetStream.stream(for: wanted.pattern.text)
        let durable = DurableSubscription(
            jetStream,
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
            onFailure: onFailure
        )
        let unsettled = UnsettledMessages(connection, acknowledgementWait: deliveries.acknowledgementWait) {
            [weak durable] bytes in
            durable?.update { $0.pull.settled(bytes: bytes) }
        }
        let subscription = try await NATSSubscription.subscribe(
            to: durable.inbox + "*",
            on: connection,
            libraryHandler: { [weak durable] received in
                durable?.received(received, unsettled, onMessage, onUnreadable)
            }
        )
        do {
            try await durable.createConsumer()
        } catch {
            await subscription.cancel()
            throw error
        }
        durable.begin(subscription, unsettled, deliveries.acknowledgementWait / 3)
        return durable
    }

    private func begin(_ subscription: NATSSubscription, _ unsettled: UnsettledMessages, _ reportInterval: Duration) {
        // Three reports in the acknowledgement wait, or a look at the server each second.
        let interval = DispatchTimeInterval.milliseconds(
            Int(clamping: min(Self.requestLife, reportInterval).milliseconds)
        )
        update {
            ($0.subscription, $0.unsettled, $0.lastHeard) = (subscription, unsettled, .now)
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
            keepUp(reportInterval, every: interval)
        }
    }

    /// The connection is back: what was asked for before is lost, and the server may have lost the consumer.
    func restart() async throws {
        update { $0.pull.stop() }
        try await createConsumer()
        update {
            ($0.needsConsumer, $0.lastHeard) = (false, .now)
            $0.pull.start()
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
        let (subscription, unsettled, restarting) = state.withLock { state in
            defer { (state.subscription, state.unsettled, state.restarting) = (nil, nil, nil) }
            return (state.subscription, state.unsettled, state.restarting)
        }
        await subscription?.cancel()
        restarting?.cancel()
        await restarting?.value
        guard jetStream.configuration.deliveries.isTemporary else {
            unsettled?.giveBack()
            return
        }
        let name = "\(request.streamName).\(request.config.durableName)"
        connection.sendSoon(NATSMessage(subject: "$JS.API.CONSUMER.DELETE.\(name)"))
    }

    // MARK: Carrying out

    /// Changes the state, and asks for messages if there is room now.
    private func update(_ body: (inout State) -> Void) {
        let (request, isQuiet) = state.withLock { state in
            body(&state)
            return (state.isClosing ? nil : state.pull.next(), state.isClosing && !state.pull.isPending)
        }
        if let request { ask(request) }
        if isQuiet { self.isQuiet.open() }
    }

    private func ask(_ wanted: PullState.Request) {
        let fetch = FetchRequest(wanted, expires: Self.requestLife)
        connection.sendSoon(
            NATSMessage(
                subject: "$JS.API.CONSUMER.MSG.NEXT.\(request.streamName).\(request.config.durableName)",
                reply: inbox + String(wanted.number),
                payload: fetch.json
            )
        )
    }

    /// On the thread of the subscription.
    private func received(
        _ received: OpaquePointer,
        _ unsettled: UnsettledMessages,
        _ onMessage: OnMessage,
        _ onUnreadable: @Sendable () -> Void
    ) {
        guard let reply = NATSMessage.reply(of: received) else { return ended(NATSMessage(received)) }
        // Anything else is not a delivery: another client published it.
        guard let delivery = Delivery(reply), delivery.consumer == request.config.durableName else { return }
        let message = NATSMessage(received)
        let bytes = message?.sizeForServer ?? 0
        state.withLock { state in
            state.lastHeard = .now
            state.pull.received(bytes: bytes)
        }
        let held = unsettled.hold(reply, bytes: bytes)
        guard let message else {
            // It cannot be read the next time either.
            held.settle(.terminated)
            return onUnreadable()
        }
        // Asks for more if this was the last one of a request, and there is room.
        update { _ in }
        onMessage(message, delivery) { held.settle($0) }
    }

    /// The server says something about a request.
    private func ended(_ message: NATSMessage?) {
        guard let message, let number = UInt64(message.subject.dropFirst(inbox.utf8.count)),
            let status = message[header: "Status"]
        else { return }
        let text = message[header: "Description"] ?? ""
        update { state in
            state.lastHeard = .now
            let end: PullState.End
            switch status {
            case "404", "408": end = .over
            case "409" where text.hasPrefix("Message Size Exceeds"): end = .tooLarge
            default: end = .unavailable
            }
            if state.pull.ended(number, end) { state.needsConsumer = true }
        }
    }

    /// Creates the consumer again if the server has lost it, and asks again if a request was lost.
    private func checkServer() {
        guard connection.isConnected else { return }
        state.withLock { state in
            guard !state.isClosing, state.restarting == nil else { return }
            let isSilent = state.lastHeard.duration(to: .now) > Self.requestLife * 3
            if isSilent, state.pull.lost() { state.needsConsumer = true }
            guard state.needsConsumer else { return }
            state.restarting = Task { [weak self] in
                // What fails is tried again at the next check.
                do { try await self?.restart() } catch { self?.onFailure(BridgeError(wrapping: error)) }
                self?.state.withLock { $0.restarting = nil }
            }
        }
    }

    /// A server that has lost its storage has lost the consumer.
    private func createConsumer() async throws {
        let name = "\(request.streamName).\(request.config.durableName)"
        do {
            do {
                let _: Created = try await jetStream.call("CONSUMER.DURABLE.CREATE.\(name)", request)
            } catch let refusal as Refusal where refusal.isChangedStart {
                // It goes on where it is; the rest may be updated.
                let known: KnownConsumer = try await jetStream.call("CONSUMER.INFO.\(name)", [String: String]())
                let _: Created = try await jetStream.call(
                    "CONSUMER.DURABLE.CREATE.\(name)",
                    request.beginning(as: known)
                )
            }
        } catch let refusal as Refusal where refusal.reason == .nameTaken {
            // It exists and cannot be updated in this way, because others are using it.
        } catch let refusal as Refusal {
            throw BridgeError(.unsupported, subject: request.config.filterSubject, refusal.description)
        }
    }
}
#endif
