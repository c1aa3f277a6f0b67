#if NATS
import Channels
import ChannelsBridge
import Dispatch

/// A durable consumer of a stream, which delivers to the processes that subscribe with its name.
///
/// The consumer delivers to a subject with a queue group, so that each message goes to one process. The
/// subscription to that subject is an ordinary one: a subscription made by the C client's JetStream functions
/// would delete the consumer when it is unsubscribed.
///
/// `unsettled` guards the messages that were delivered and not settled.
final class DurableSubscription: Sendable {
    private let jetStream: JetStream
    private let connection: NATSConnection
    private let request: ConsumerRequest
    private let subscription: NATSSubscription
    private let unsettled: UnsettledMessages

    private init(
        _ jetStream: JetStream,
        _ connection: NATSConnection,
        _ request: ConsumerRequest,
        _ subscription: NATSSubscription,
        _ unsettled: UnsettledMessages
    ) {
        self.jetStream = jetStream
        self.connection = connection
        self.request = request
        self.subscription = subscription
        self.unsettled = unsettled
    }

    /// - Parameter onMessage: Called on a thread of the C client, with nil for a message that cannot be read.
    static func open(
        name: String,
        pattern: String,
        on connection: NATSConnection,
        _ jetStream: JetStream,
        onMessage: @escaping @Sendable (NATSMessage, Delivery, @escaping @Sendable (Settlement) -> Void) -> Void,
        onUnreadable: @escaping @Sendable () -> Void
    ) async throws -> DurableSubscription {
        let stream = try await jetStream.stream(for: pattern)
        let request = ConsumerRequest(stream: stream, name: name, pattern: pattern, jetStream.configuration.deliveries)
        let unsettled = UnsettledMessages(
            connection,
            saysSo: jetStream.configuration.deliveries.acknowledgementWait / 3
        )
        let subscription = try await NATSSubscription.subscribe(
            to: request.config.deliverSubject,
            group: request.config.deliverGroup,
            on: connection,
            libraryHandler: { received in
                // Anything else on this subject is not a delivery: another client published it.
                let reply = NATSMessage.reply(of: received)
                guard let reply, let delivery = Delivery(reply), delivery.consumer == request.config.durableName else {
                    return
                }
                let held = unsettled.hold(reply)
                guard let message = NATSMessage(received) else {
                    // It cannot be read the next time either.
                    held.settle(.terminated)
                    return onUnreadable()
                }
                onMessage(message, delivery) { held.settle($0) }
            }
        )
        let durable = DurableSubscription(jetStream, connection, request, subscription, unsettled)
        do {
            try await durable.createConsumer()
        } catch {
            await subscription.cancel()
            throw error
        }
        return durable
    }

    /// Also called after a reconnection: a server that has lost its storage has lost the consumer, and would
    /// deliver nothing without reporting an error.
    func createConsumer() async throws {
        do {
            let _: Created = try await jetStream.call(
                "CONSUMER.DURABLE.CREATE.\(request.streamName).\(request.config.durableName)",
                request
            )
        } catch let refusal as Refusal where refusal.reason == .nameTaken {
            // It exists and cannot be updated in this way, because others are using it.
        } catch let refusal as Refusal {
            throw BridgeError(.unsupported, subject: request.config.filterSubject, refusal.description)
        }
    }

    /// Ends the delivery and keeps the consumer. Unsettled messages go to another subscriber immediately.
    func close() async {
        await subscription.cancel()
        unsettled.giveBack()
    }
}

/// The messages that were delivered and not settled, for which progress is reported to the server from time
/// to time. `state` guards all of it.
private final class UnsettledMessages: Sendable {
    private struct State {
        var replies: Set<String> = []
        /// Those that can still be settled.
        var held: Set<String> = []
        var isScheduled = false
    }

    private let connection: NATSConnection
    private let interval: DispatchTimeInterval
    private let state = Locked(State())

    init(_ connection: NATSConnection, saysSo interval: Duration) {
        self.connection = connection
        self.interval = .milliseconds(Int(clamping: interval.milliseconds))
    }

    func hold(_ reply: String) -> HeldMessage {
        let isFirst = state.withLock { state in
            state.replies.insert(reply)
            state.held.insert(reply)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { saySoLater() }
        return HeldMessage(reply, self)
    }

    /// The message can no longer be settled: the server delivers it again after its acknowledgement wait.
    func letGo(_ reply: String) {
        state.withLock { _ = $0.held.remove(reply) }
    }

    private func saySoLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + interval) { [weak self] in self?.saySo() }
    }

    /// Reports progress. Otherwise the server would deliver messages that are waiting here to another
    /// process, and both would handle them.
    private func saySo() {
        let replies = state.withLock { state in
            state.isScheduled = !state.held.isEmpty
            return state.held
        }
        // Without a connection, the report would only wait, and be obsolete by the time it is sent.
        if connection.isConnected {
            for reply in replies { connection.sendSoon(NATSMessage(subject: reply, payload: Array("+WPI".utf8))) }
        }
        if !replies.isEmpty { saySoLater() }
    }

    func settle(_ reply: String, _ settlement: Settlement) {
        let isFirst = state.withLock { state in
            state.held.remove(reply)
            return state.replies.remove(reply) != nil
        }
        guard isFirst else { return }
        let answer =
            switch settlement {
            case .acknowledged: "+ACK"
            case .terminated: "+TERM"
            // Without a delay, the server redelivers immediately: a thousand times a second.
            case .retry(let delay): "-NAK {\"delay\": \(max(delay, .milliseconds(1)).nanoseconds)}"
            }
        connection.sendSoon(NATSMessage(subject: reply, payload: Array(answer.utf8)))
    }

    func giveBack() {
        let replies = state.withLock { state in
            defer { (state.replies, state.held) = ([], []) }
            return state.replies
        }
        // Once, and without a delay: this process receives no more of them.
        for reply in replies { connection.sendSoon(NATSMessage(subject: reply, payload: Array("-NAK".utf8))) }
    }
}

/// Settles a message. If it is released without that, the server delivers the message again.
private final class HeldMessage: Sendable {
    private let reply: String
    private let unsettled: UnsettledMessages

    init(_ reply: String, _ unsettled: UnsettledMessages) {
        self.reply = reply
        self.unsettled = unsettled
    }

    deinit { unsettled.letGo(reply) }

    func settle(_ settlement: Settlement) {
        unsettled.settle(reply, settlement)
    }
}

/// The request that creates a durable consumer.
private struct ConsumerRequest: Encodable {
    struct Configuration: Encodable {
        var durableName: String
        var deliverSubject: String
        var deliverGroup: String
        var deliverPolicy: String
        var filterSubject: String
        var ackPolicy = "explicit"
        var ackWait: Int64
        var maxDeliver: Int
        var maxAckPending: Int
        var replayPolicy = "instant"
    }

    var streamName: String
    var config: Configuration

    init(stream: String, name: String, pattern: String, _ deliveries: NATSConfiguration.Deliveries) {
        streamName = stream
        let consumer = Self.consumerName(name, pattern)
        config = Configuration(
            durableName: consumer,
            // With the prefix that permissions commonly allow. The same in each process of the name.
            deliverSubject: "_INBOX.channels.\(stream).\(consumer)",
            deliverGroup: consumer,
            deliverPolicy: deliveries.includesStored ? "all" : "new",
            filterSubject: pattern,
            ackWait: deliveries.acknowledgementWait.nanoseconds,
            maxDeliver: max(1, deliveries.maximum),
            maxAckPending: max(1, deliveries.inFlight)
        )
    }

    /// A name of a consumer is one token of letters, digits, `-` and `_`; the hash keeps different names and
    /// patterns apart.
    private static func consumerName(_ name: String, _ pattern: String) -> String {
        let readable = name.utf8.prefix(40).map { byte -> Character in
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
                || scalar == "-"
            return isPlain ? Character(scalar) : "_"
        }
        // FNV-1a: the same in every process, unlike Hasher.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in Array(name.utf8) + [0] + Array(pattern.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(readable) + "_" + String(hash, radix: 36)
    }
}
#endif
