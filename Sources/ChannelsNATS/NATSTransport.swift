#if NATS
import Channels
public import ChannelsBridge

/// A transport over NATS.
///
/// The name of a channel is the subject.
///
/// ```swift
/// var configuration = NATSConfiguration(servers: ["nats://127.0.0.1:4222"])
/// configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
/// let transport = NATSTransport(configuration)
/// ```
///
/// ## Behavior
///
/// - Messages published without `durable` use core NATS and are delivered at most once. Accepted does not
///   mean delivered.
/// - Messages published with `durable` are stored by JetStream before `publish` returns, and delivered at
///   least once. A message is sent again with the same identifier until it is acknowledged; the stream drops
///   repeats.
/// - Last values are stored in a bucket of JetStream's key-value store.
/// - A lost connection is restored with its subscriptions, whatever ended it, even if the server refuses the
///   credentials for a while or sends an error. `TransportEvent.failed` says why an attempt failed, unless no
///   server could be reached. Meanwhile, published messages are queued, up to 8 MiB.
/// - Subjects and headers are always valid when they are sent. The C client does not validate them, and a
///   line break in a name would inject commands.
/// - No call blocks a thread of the cooperative pool, even if the server is paused.
///
/// The C client uses one thread per subscription and per watched pattern, and one for all requests.
public final class NATSTransport: Transport {
    /// What exists from `connect` to `close`.
    struct Open: Sendable {
        let session: Session
        let relay: EventRelay
    }

    let configuration: NATSConfiguration
    private let phase = ConnectionPhase<Open>()
    /// The connection once it is established, which every call of `publish` reads. It is kept after closing,
    /// and then throws.
    private let established = Locked<NATSConnection?>(nil, spins: true)

    /// Creates a transport, which does nothing until ``connect(onEvent:)``.
    ///
    /// - Precondition: The configuration names at least one server, and its limits and times are positive.
    public init(_ configuration: NATSConfiguration = NATSConfiguration()) {
        configuration.check()
        self.configuration = configuration
    }

    deinit {
        phase.close()?.session.connection.beginClosing()
    }

    /// All capabilities. Without JetStream on the server, only requests and groups work.
    public var capabilities: TransportCapabilities { .all }

    /// Connects to the first server that answers. May be called again after ``close(timeout:)``.
    public func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        let relay = EventRelay(onEvent)
        let connected = try await phase.connect {
            Open(session: try await open(relay), relay: relay)
        } abandon: { open in
            await open.session.connection.close()
        }
        established.withLock { $0 = connected.session.connection }
        await relay.connected()
    }

    private func open(_ relay: EventRelay) async throws -> Session {
        // Gives the callbacks of the connection the session, once it exists.
        let holder = Locked<Session?>(nil)
        let connection = try await NATSConnection.connect(configuration) { event in
            let session = holder.withLock { $0 }
            let isTold = session?.inbox.failRequests(because: event) == true
            if !isTold { relay.report(session?.placed(event) ?? event) }
            switch event {
            case .interrupted: session?.inbox.failBound()
            case .disconnected: session?.interrupt()
            case .reconnected: session?.restore()
            // Breaks the cycle: the session keeps the connection, which keeps this closure.
            case .closed: holder.withLock { $0 = nil }
            default: break
            }
        }
        do {
            let inbox = try await ReplyInbox.open(on: connection, configuration)
            let session = Session(connection, inbox, configuration) { relay.report($0) }
            holder.withLock { $0 = session }
            return session
        } catch {
            await connection.close()
            throw error
        }
    }

    func open() throws -> Open { try phase.connection() }

    var session: Session {
        get throws { try open().session }
    }

    /// Publishes a message; a durable one is stored when this returns.
    ///
    /// With `durable`, it throws `notStored` at once if no stream stores the subject.
    public func publish(_ message: TransportMessage, durable: Bool) async throws {
        guard durable else {
            let connection = try established.withLock { $0 } ?? session.connection
            // Usually there is space, and then there is no need to suspend.
            if try connection.sendIfSpace(message) { return }
            return try await connection.send(NATSMessage(message))
        }
        let session = try session
        // Once, because all attempts of this call must have one identifier.
        let identified = NATSMessage(identified: message)
        try await session.streams.preparing(.messages) {
            do { try await session.jetStream.checkStream(of: message.subject) } catch let refusal as Refusal {
                throw BridgeError(wrapping: refusal)
            }
            _ = try await session.jetStream.publish(identified)
        }
    }

    /// Publishes a durable message without waiting for the acknowledgement.
    ///
    /// It throws `notStored` at once if no stream stores the subject.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        let session = try session
        // No failure of an earlier message has been reported so far, but one may be lost with the current
        // connection. On the next connection, this message would overtake it.
        guard let epoch = session.connection.epoch else { throw BridgeError(.notConnected, subject: message.subject) }
        let identified = NATSMessage(identified: message)
        do {
            try await session.streams.preparing(.messages) {
                try await session.jetStream.checkStream(of: message.subject)
                try await session.jetStream.publishOnce(
                    identified,
                    onConnection: epoch,
                    isRepeated: isRepeated,
                    // Longer, so that a stream that is only slow is not sent copies for ever.
                    timeout: configuration.retryInterval * (isRepeated ? 2 : 1)
                ) { result in
                    if case .failure(let error) = result { onResult(error) } else { onResult(nil) }
                }
            }
        } catch {
            throw BridgeError(wrapping: error)
        }
    }

    /// Subscribes to a pattern.
    ///
    /// With a `durableName`, the messages come from the one stream whose subjects cover the pattern. It
    /// throws `notStored` if there is none, and `unsupported` if there are several.
    public func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        let open = try open()
        let (session, relay) = (open.session, open.relay)
        let pattern = subscription.pattern.text
        let reader = MessageReader(pattern, relay)
        guard let durableName = subscription.durableName else {
            let (connection, group) = (session.connection, subscription.group)
            let opened = try await NATSSubscription.subscribe(to: pattern, group: group, on: connection) { message in
                if let message = reader.read(message) { onMessage(InboundMessage(message)) }
            }
            return try await session.keep(opened)
        }
        let durable = try await session.streams.preparing(.messages) {
            try await DurableSubscription.open(
                subscription,
                as: durableName,
                on: session.connection,
                session.jetStream,
                session.streams
            ) { received, delivery, onSettled in
                let (message, problem) = reader.read(received, delivery)
                var inbound = InboundMessage(
                    message,
                    deliveryCount: delivery.deliveryCount,
                    identity: delivery.identity,
                    sequence: delivery.streamSequence,
                    onSettled: onSettled
                )
                inbound.secondsSince1970 = delivery.storedAt?.secondsSince1970
                inbound.problem = problem
                onMessage(inbound)
            }
        }
        try await session.keep(durable)
    }

    /// Changes how many unsettled messages of a durable name this transport may hold. A request that the server already
    /// has stands for up to a second.
    public func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        guard let name = subscription.durableName else { return }
        (try? session)?.limitPrefetch(to: limit, of: name, on: subscription.pattern.text)
    }

    /// Ends the subscriptions to requests and to messages that are not durable, one after another, waiting for
    /// the server's reply to each.
    public func drainSubscriptions(timeout: Duration) async {
        await (try? session)?.drain(until: .now + timeout)
    }

    /// Sends the buffered messages and closes the connection.
    public func close(timeout: Duration) async throws {
        guard let open = phase.close() else { return }
        let (session, relay) = (open.session, open.relay)
        let end = ContinuousClock.now + timeout
        session.connection.stopTakingMessages()
        await session.stopReceiving()
        let isFlushed = await session.connection.flush(until: end)
        await session.inbox.close(BridgeError(.closed))
        await session.connection.close()
        await relay.end()
        if !isFlushed {
            throw BridgeError(.closingTimedOut, "not everything that was published could be sent within \(timeout)")
        }
    }
}

extension NATSTransport {
    /// Creates a stream for dead letters, unless one already stores them: `DEAD` for letters under `dead`.
    public func prepare(forLetterOn subject: String, under prefix: String) async throws {
        let streams = try session.streams
        try await streams.preparing(.messages) {
            do { try await streams.prepareLetters(on: subject, under: prefix) } catch {
                throw BridgeError(wrapping: error, subject: subject)
            }
        }
    }
}
#endif
