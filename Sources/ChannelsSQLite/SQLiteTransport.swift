#if SQLite
internal import Channels
public import ChannelsBridge
internal import Foundation

/// Carries messages over one SQLite file: between processes of one machine, and from one run of a program to
/// the next, with nothing to install or start.
///
/// ```swift
/// let bridge = Bridge("till", switchboard: board, transport: SQLiteTransport(path: "shop.sqlite"), routes: [
///     .outgoing(.sold, durable: true),
/// ])
/// ```
///
/// ## Behavior
///
/// - Durable messages are delivered at least once, in the order in which they were stored. Processes with the
///   same durable name share them; order then holds within each process. A new durable name starts with the
///   oldest stored message.
/// - However a process ends, its unsettled messages go to another one with the same durable name: within 0.1
///   s to a running one, and before anything newer to one that starts. A stopped (`SIGSTOP`) process keeps
///   its messages. A kernel lock on a small file beside the database decides, not a clock.
/// - A durable message is acknowledged when it is on disk (``SQLiteConfiguration/Synchronous``).
/// - While nothing can be stored, because the file is locked, removed or not writable, or the disk is full,
///   the transport is disconnected. That is noticed within two seconds of the first write, and each reason is
///   reported at most once a minute. Publishing fails meanwhile; a bridge publishes the messages again, in
///   order, once a commit succeeds.
/// - If the file is replaced by an older copy, `BridgeError/Code/messagesLost` is reported, and every
///   subscription starts again with the messages of the copy.
/// - Messages that are not durable are delivered at most once, to those subscribed at the time.
/// - Messages published at the same time share a commit.
/// - Subscribers of the same connection are woken at once. Subscribers in other processes poll every 5 ms
///   while messages arrive, and less often the longer none do: every 50 ms after a second, every 100 ms after
///   two.
/// - Requests are not carried: `BridgeError/Code/unsupported`.
///
/// The file may be your own database, with ``Channels/NamedChannel/post(_:type:codec:subjectPrefix:in:)`` as
/// outbox. It must be on a local disk: SQLite's write-ahead log does not work over a network.
public final class SQLiteTransport: Transport {
    private enum Phase {
        case new, connecting
        case connected(SQLiteSession, HandlerQueue<TransportEvent>)
        case closed
    }

    /// With this many queued writes, publishing waits for its own.
    private static let mostWaiting = 4_096

    private let configuration: SQLiteConfiguration
    private let phase = Locked(Phase.new)

    /// Creates a transport that is not connected yet.
    public init(_ configuration: SQLiteConfiguration) {
        configuration.check()
        var configuration = configuration
        // Resolved once: the working directory may change.
        configuration.path = URL(filePath: configuration.path).path(percentEncoded: false)
        self.configuration = configuration
    }

    /// Creates a transport over a file, with default settings.
    public convenience init(path: String) { self.init(SQLiteConfiguration(path: path)) }

    /// All capabilities except requests.
    public var capabilities: TransportCapabilities { .all.subtracting(.requests) }

    // MARK: Lifecycle

    /// Opens the file, or creates it.
    public func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        try phase.withLock { phase in
            switch phase {
            case .new, .closed: phase = .connecting
            case .connecting, .connected:
                throw BridgeError(
                    .alreadyRunning,
                    detail: "\(configuration.path): the transport is connected: close it first"
                )
            }
        }
        let events = HandlerQueue(onEvent)
        do {
            let session = try await SQLiteSession(configuration, events)
            phase.withLock { $0 = .connected(session, events) }
        } catch {
            phase.withLock { $0 = .closed }
            throw error
        }
        events.enqueue(.connected)
        events.deliver()
    }

    /// Commits queued messages and closes the file.
    ///
    /// If another program has locked the file, it retries until `SQLiteConfiguration/busyTimeout` has passed.
    public func close(timeout: Duration) async throws {
        let former = phase.withLock { phase in
            defer { phase = .closed }
            return phase
        }
        guard case .connected(let session, let events) = former else { return }
        let error = await session.close(timeout: timeout)
        await events.close()
        if let error {
            throw BridgeError(
                .closingTimedOut,
                detail: "\(configuration.path): messages were not stored within \(timeout)",
                underlyingError: error
            )
        }
    }

    func session(_ subject: String? = nil) throws -> SQLiteSession {
        try phase.withLock { phase in
            switch phase {
            case .connected(let session, _): return session
            case .new, .connecting:
                throw BridgeError(
                    .notConnected,
                    subject: subject,
                    detail: "\(configuration.path): connect has not returned yet"
                )
            case .closed:
                throw BridgeError(.closed, subject: subject, detail: "\(configuration.path): the transport was closed")
            }
        }
    }

    private func check(_ message: TransportMessage) throws {
        guard message.body.count <= configuration.bodyLimit else {
            let detail = "\(message.body.count) bytes, the bodyLimit is \(configuration.bodyLimit)"
            throw BridgeError(.payloadTooLarge, subject: message.subject, detail: detail)
        }
    }

    // MARK: Messages

    /// Publishes a message; a durable one is committed when this returns.
    public func publish(_ message: TransportMessage, durable: Bool) async throws {
        try check(message)
        let session = try session(message.subject)
        guard !durable, session.file.waitingCount < Self.mostWaiting else {
            _ = try await session.file.write { try SQLiteSchema.insert(message, durable: durable, $0) }
            return
        }
        session.file.write({ _ = try SQLiteSchema.insert(message, durable: false, $0) }) { error in
            if let error { session.lose(error) }
        }
    }

    /// Publishes a durable message, and reports when it is committed.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        try check(message)
        let isNew = Locked(false)
        try session(message.subject).file.write { db in
            let isInserted = try SQLiteSchema.insert(message, durable: true, db)
            isNew.withLock { $0 = isInserted }
        } _: { error in
            let isDuplicate = error == nil && !isRepeated && !isNew.withLock { $0 }
            onResult(
                isDuplicate
                    ? BridgeError(
                        .duplicateIdentifier,
                        subject: message.subject,
                        detail: message.headers[TransportHeaders.id]
                    ) : error
            )
        }
    }

    /// Subscribes to a pattern.
    public func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        let session = try session(subscription.pattern.text)
        let queue = HandlerQueue(onMessage)
        if let name = subscription.durableName {
            try await session.subscribe(
                SQLiteDurableName(subscription, name, atMost: configuration.unsettledLimit, queue)
            )
        } else {
            try await session.subscribe(subscription.pattern, group: subscription.group, queue)
        }
    }

    /// Ends the subscriptions that are not durable, and returns when their handlers have received every
    /// message delivered so far.
    public func drainSubscriptions(timeout: Duration) async { await (try? session())?.drain(timeout: timeout) }

    // MARK: Requests

    /// Not supported.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        _ = try session(message.subject)
        throw BridgeError(.unsupported, subject: message.subject, detail: "a file carries no requests")
    }

    /// Not supported.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        _ = try session(subject)
        throw BridgeError(.unsupported, subject: subject, detail: "a file carries no requests")
    }

    // MARK: Last values

    /// Stores a last value.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        try check(message)
        return try await session(message.subject).store(message, ifNone: false)!  // only `ifNone` returns nil
    }

    /// Stores a last value, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try check(message)
        return try await session(message.subject).store(message, ifNone: true)
    }

    /// Watches the last value of a subject.
    public func watch(_ subject: String, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        try await session(subject).watch(subject, HandlerQueue(onValue))
    }
}
#endif
