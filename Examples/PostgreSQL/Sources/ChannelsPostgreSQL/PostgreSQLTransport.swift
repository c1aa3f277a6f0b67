public import Channels
public import ChannelsBridge

/// Carries messages over a PostgreSQL database, with your data and in your transactions.
///
/// ```swift
/// let transport = PostgreSQLTransport(PostgreSQLConfiguration(connection: "host=db.example.org dbname=shop"))
/// let bridge = Bridge("till", switchboard: board, transport: transport, routes: [.outgoing(.sold, durable: true)])
/// ```
///
/// ## Behavior
///
/// - A durable message is acknowledged when its transaction is committed. It is delivered to each durable
///   name at least once. If a transaction commits after a newer one, its messages are still not skipped.
/// - However a process ends, its unsettled messages go to another one with the same durable name, within
///   ``PostgreSQLConfiguration/pollInterval`` after the server has noticed the end. It notices at once if the
///   process was killed, and after about 20 seconds if its machine was lost. A suspended process keeps its
///   messages.
/// - Messages that are not durable, and last values, are also read by their position. The former are in an
///   unlogged table.
/// - A notification only says that there is something to read. A transport also looks every
///   ``PostgreSQLConfiguration/pollInterval``.
/// - If an older copy of the database is restored, `BridgeError/Code/messagesLost` is reported, and every subscription
///   begins again with what is there.
/// - Requests, and groups of messages that are not durable, are not supported.
public final class PostgreSQLTransport: Transport {
    private let configuration: PostgreSQLConfiguration
    private let phase = ConnectionPhase<Mailbox>()

    /// Creates a transport that is not connected yet.
    public init(_ configuration: PostgreSQLConfiguration) {
        configuration.check()
        self.configuration = configuration
    }

    deinit {
        // A transport that nobody has closed ends when it is released.
        if let mailbox = phase.close() { Self.abandon(mailbox, at: .now + .seconds(5)) }
    }

    /// All capabilities except requests, and groups of messages that are not durable.
    public var capabilities: TransportCapabilities { [.durable, .lastValues, .replay] }

    // MARK: Lifecycle

    /// Connects to the server, and creates the tables if they are not there.
    public func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        let open = {
            let (mailbox, opened) = (try Mailbox(limit: self.configuration.bufferLimit), Once<Void>())
            Session.start(self.configuration, mailbox, opened, onEvent)
            do { try await opened.value() } catch {
                Self.abandon(mailbox, at: .now)
                throw error
            }
            return mailbox
        }
        _ = try await phase.connect(open) { Self.abandon($0, at: .now) }
    }

    private static func abandon(_ mailbox: Mailbox, at end: ContinuousClock.Instant) {
        mailbox.abandon(at: end)
        mailbox.send { $0.close(Once()) }
    }

    /// Stores what is in the buffer, and closes the connection.
    public func close(timeout: Duration) async throws {
        guard let mailbox = phase.close() else { return }
        mailbox.abandon(at: .now + min(timeout, .seconds(1_000_000)))
        let closed = Once<BridgeError?>()
        if !mailbox.send({ $0.close(closed) }) { closed.finish(.success(nil)) }
        // In its own task, because this one may be cancelled.
        guard let error = try await Task(operation: { try await closed.value() }).value else { return }
        let detail = "messages were not stored within \(timeout)"
        throw BridgeError(.closingTimedOut, detail: detail, underlyingError: error)
    }

    func mailbox(_ subject: String?) throws -> Mailbox { try phase.connection(for: subject) }

    // MARK: Messages

    /// Publishes a message; a durable one is committed when this returns.
    public func publish(_ message: TransportMessage, durable: Bool) async throws {
        let stored = Once<Void>()
        let statement = Schema.insert(message, durable: durable)
        let hasToWait = try change(statement, message, isDurable: durable) { stored.finish($0.map { _ in }) }
        if durable || hasToWait { try await stored.value() }
    }

    /// Publishes a durable message, and reports when it is committed.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        let (stored, id) = (Once<Void>(), message.headers[TransportHeaders.id])
        let hasToWait = try change(Schema.insert(message, durable: true), message, isDurable: true) { result in
            switch result {
            case .success(let answer) where answer.changed == 0 && !isRepeated:
                onResult(BridgeError(.duplicateIdentifier, subject: message.subject, detail: id))
            case .success: onResult(nil)
            case .failure(let error): onResult(BridgeError.from(error))
            }
            stored.finish(.success(()))
        }
        if hasToWait { try? await stored.value() }
    }

    /// Requests that a message be stored.
    ///
    /// - Parameters:
    ///   - locks: ``Session/Change/locks`` of the change.
    ///   - end: Called on the thread of the session.
    /// - Returns: Whether the buffer is so full that the caller has to wait for `end`.
    private func change(
        _ statement: Statement,
        _ message: TransportMessage,
        isDurable: Bool,
        locks: Bool = false,
        _ end: @escaping @Sendable (Result<Answer, any Error>) -> Void
    ) throws -> Bool {
        let (mailbox, bytes) = (try mailbox(message.subject), message.byteCount)
        try Schema.check(message)
        do {
            let hasToWait = try mailbox.reserve(bytes, durable: isDurable)
            let isSent = mailbox.send { session in
                var change = Session.Change(statement: statement) { _, result in
                    end(result.mapError { BridgeError.from($0, subject: message.subject) })
                }
                (change.isDurable, change.waits, change.locks) = (isDurable, !isDurable, locks)
                change.bytes = bytes
                session.add(change)
            }
            guard isSent else { throw BridgeError(.closed) }
            return hasToWait
        } catch { throw BridgeError.from(error, subject: message.subject) }
    }

    /// Subscribes to a pattern.
    public func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        let pattern = subscription.pattern
        let mailbox = try mailbox(pattern.text)
        if let name = subscription.durableName {
            return try await mailbox.ask {
                $0.subscribe(DurableName(subscription: subscription, name: name, onMessage: onMessage), $1)
            }
        }
        guard subscription.group == nil else {
            let detail = "over PostgreSQL, processes share the messages of a durable name only: make the route durable"
            throw BridgeError(.unsupported, subject: pattern.text, detail: detail)
        }
        try await mailbox.ask { $0.subscribe(Reading.Reader(pattern: pattern, onMessage: onMessage), $1) }
    }

    /// Changes how many unsettled messages of a durable name this connection may hold.
    public func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        guard let name = subscription.durableName else { return }
        _ = try? mailbox(subscription.pattern.text).send { $0.limit(name, subscription.pattern, to: limit) }
    }

    // MARK: Last values

    /// Stores a last value.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        // Only `ifNone` returns nil.
        try await store(message, ifNone: false)!
    }

    /// Stores a last value, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try await store(message, ifNone: true)
    }

    private func store(_ message: TransportMessage, ifNone: Bool) async throws -> UInt64? {
        let stored = Once<UInt64?>()
        _ = try change(Schema.store(message, ifNone: ifNone), message, isDurable: true, locks: true) { result in
            stored.finish(result.map { $0.rows.first.map { UInt64($0.int(0)) } })
        }
        return try await stored.value()
    }

    /// Watches the last values of the subjects that match a pattern.
    public func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        try await mailbox(pattern.text).ask { $0.watch(Reading.Watcher(pattern: pattern, onValue: onValue), $1) }
    }
}
