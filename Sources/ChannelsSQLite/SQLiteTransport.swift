#if SQLite
public import Channels
public import ChannelsBridge
internal import Foundation

/// Carries messages over one SQLite file, between processes on one machine and from one run of a program to
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
///   same durable name share them; order is then kept within each process. A new durable name starts with the
///   oldest stored message.
/// - However a process ends, its unsettled messages go to another one with the same durable name. A running
///   process receives them at once (within a second on Apple's systems, which do not report that a process has
///   ended). A process that starts receives them before anything newer. A suspended (`SIGSTOP`) process keeps
///   its messages. None of this depends on a clock: it relies on a kernel lock on a small file next to the
///   database.
/// - A durable message is acknowledged when it is on disk (``SQLiteConfiguration/Synchronous``).
/// - While nothing can be stored, because the file is locked, removed or not writable, or the disk is full,
///   the transport is disconnected. It notices that within two seconds of the first write, and reports each
///   reason at most once a minute. Publishing fails meanwhile (if the file is locked, after
///   ``SQLiteConfiguration/busyTimeout``); a bridge publishes the messages again, in order, once a commit
///   succeeds.
/// - If an older copy of the file is restored, or another file is put in its place,
///   `BridgeError.Code.messagesLost` is reported, and every subscription starts again with what is there.
/// - Messages that are not durable are delivered at most once, to those subscribed at the time.
/// - Messages published at the same time share a commit. Of these, only durable messages are synced to disk.
/// - The system wakes subscribers in other processes when something is written (with inotify on Linux, a kqueue
///   on Apple's systems). They also look once a second. If the system has no watches left, they look every 5 to
///   100 ms.
/// - Requests, and groups of messages that are not durable, are not supported: routes for them fail with
///   `BridgeError.Code.unsupported`. Use a durable name to share messages among processes.
///
/// The file may be your own database; ``Channels/NamedChannel/post(_:type:codec:subjectPrefix:in:)`` is then
/// its outbox. It must be on a local disk, because SQLite's write-ahead log does not work over a network.
public final class SQLiteTransport: Transport {
    /// What exists from `connect` to `close`.
    private final class Connection: Sendable {
        let mailbox: FileMailbox
        let events: HandlerQueue<TransportEvent>
        /// Closures that close the queues of the subscriptions.
        let ends = Locked<[@Sendable () async -> Void]>([])

        init(_ mailbox: FileMailbox, _ events: HandlerQueue<TransportEvent>) {
            (self.mailbox, self.events) = (mailbox, events)
        }

        /// A transport that nobody has closed ends when it is released.
        deinit { mailbox.send { $0.close { _ in } } }

        func queue<Item: Sendable>(_ handler: @escaping @Sendable (Item) -> Void) -> HandlerQueue<Item> {
            let queue = HandlerQueue(handler)
            ends.withLock { $0.append { await queue.close() } }
            return queue
        }
    }

    private let configuration: SQLiteConfiguration
    private let phase: ConnectionPhase<Connection>

    /// Creates a transport that is not connected yet.
    public init(_ configuration: SQLiteConfiguration) {
        configuration.check()
        var configuration = configuration
        // Resolved once, because the working directory may change.
        configuration.path = URL(filePath: configuration.path).path(percentEncoded: false)
        // With a slash at its end, SQLite would open the file and look for its log elsewhere.
        while configuration.path.count > 1, configuration.path.last == "/" { configuration.path.removeLast() }
        self.configuration = configuration
        phase = ConnectionPhase(configuration.path)
    }

    /// Creates a transport over a file, with default settings.
    public convenience init(path: String) { self.init(SQLiteConfiguration(path: path)) }

    /// All capabilities except requests, and groups of messages that are not durable.
    public var capabilities: TransportCapabilities { [.durable, .lastValues, .replay] }

    // MARK: Lifecycle

    /// Opens the file, or creates it.
    public func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        let connection = try await phase.connect {
            try await open(HandlerQueue(onEvent))
        } abandon: { connection in
            await connection.events.close()
        }
        connection.events.enqueue(.connected)
        connection.events.deliver()
    }

    private func open(_ events: HandlerQueue<TransportEvent>) async throws -> Connection {
        let mailbox = try FileMailbox()
        let opened = FirstResult<Void>()
        let tell: @Sendable (TransportEvent) -> Void = { event in
            events.enqueue(event)
            events.deliver()
        }
        FileThread.start(configuration, mailbox, onEvent: tell) { error in
            opened.finish(error.map { .failure($0) } ?? .success(()))
        }
        let connection = Connection(mailbox, events)
        try await opened.valueUnlessCancelled()
        return connection
    }

    /// Commits queued messages and closes the file.
    ///
    /// If another program has locked the file, it retries until ``SQLiteConfiguration/busyTimeout`` has passed.
    public func close(timeout: Duration) async throws {
        guard let connection = phase.close() else { return }
        for end in connection.ends.withLock({ $0 }) { await end() }
        let closed = FirstResult<Void>()
        let isSent = connection.mailbox.send { $0.close { closed.finish($0.map { .failure($0) } ?? .success(())) } }
        if !isSent { closed.finish(.success(())) }
        let late = BridgeError(.timedOut, detail: "\(configuration.path): the file was locked or slow, for \(timeout)")
        // In its own task, because this one may be cancelled.
        let result = await Task { try await closed.value(timeout: timeout, clock: ContinuousClock(), else: late) }
            .result
        await connection.events.close()
        do { try result.get() } catch {
            let detail = "\(configuration.path): messages were not stored within \(timeout)"
            throw BridgeError(
                .closingTimedOut,
                detail: detail,
                underlyingError: BridgeError(error, path: configuration.path)
            )
        }
    }

    func mailbox(_ subject: String? = nil) throws -> FileMailbox { try phase.connection(for: subject).mailbox }

    private func check(_ message: TransportMessage) throws { try message.check(upTo: configuration.bodyLimit) }

    // MARK: Messages

    /// Publishes a message; a durable one is committed when this returns.
    public func publish(_ message: TransportMessage, durable: Bool) async throws {
        try check(message)
        let stored = FirstResult<Void>()
        let hasToWait = try store(message, durable ? .message : .plain) { error, _ in
            stored.finish(error.map { .failure($0) } ?? .success(()))
        }
        if durable || hasToWait { try await stored.valueUnlessCancelled() }
    }

    /// Publishes a durable message, and reports when it is committed.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        try check(message)
        let stored = FirstResult<Void>()
        let hasToWait = try store(message, .message) { error, isNew in
            let isDuplicate = error == nil && !isRepeated && !isNew
            let id = message.headers[TransportHeaders.id]
            onResult(isDuplicate ? BridgeError(.duplicateIdentifier, subject: message.subject, detail: id) : error)
            stored.finish(.success(()))
        }
        // The memory for messages that are not committed is limited.
        if hasToWait { try? await stored.valueUnlessCancelled() }
    }

    /// Requests that a message be stored.
    ///
    /// - Parameter end: Called on the thread of the connection with whether the message was new.
    /// - Returns: Whether the buffer is so full that the caller has to wait for `end`.
    private func store(
        _ message: TransportMessage,
        _ kind: CommitQueue.Change.Kind,
        _ end: @escaping @Sendable (BridgeError?, _ isNew: Bool) -> Void
    ) throws -> Bool {
        let mailbox = try mailbox(message.subject)
        let bytes = message.byteCount
        let hasToWait = mailbox.reserve(bytes)
        let isSent = mailbox.send { connection in
            var isNew = false
            let time = connection.environment.wallClock
            connection.add(
                CommitQueue.Change(kind: kind) { db, _ in
                    isNew = try SQLiteSchema.insert(message, durable: kind == .message, at: time(), db)
                } end: { [unowned connection] error in
                    mailbox.release(bytes)
                    if let error, kind == .plain { connection.lose(error) }
                    end(error, isNew)
                }
            )
        }
        guard isSent else { throw BridgeError(.closed, subject: message.subject) }
        return hasToWait
    }

    /// Subscribes to a pattern.
    public func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        guard let name = subscription.durableName else {
            guard subscription.group == nil else {
                let detail = "over a file, processes share the messages of a durable name only: make the route durable"
                throw BridgeError(.unsupported, subject: subscription.pattern.text, detail: detail)
            }
            return try await subscribe(to: subscription.pattern, from: .new, onMessage)
        }
        let connection = try phase.connection(for: subscription.pattern.text)
        let durable = SQLiteDurableName(name, subscription, connection.queue(onMessage))
        try await connection.mailbox.ask { $0.subscribe(durable, $1) }
    }

    /// Subscribes to messages whether or not they are durable, without writing anything to the file.
    ///
    /// - Parameter start: Only for the first subscription of the connection.
    package func subscribe(
        to pattern: ChannelPattern,
        from start: ReplayStart,
        _ onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        let connection = try phase.connection(for: pattern.text)
        let queue = connection.queue(onMessage)
        try await connection.mailbox.ask { $0.subscribe(to: pattern, from: start, queue, $1) }
    }

    /// Changes how many unsettled messages of a durable name this connection may hold.
    public func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        guard let name = subscription.durableName.map({ ExactText($0) }) else { return }
        _ = try? mailbox().send { connection in
            for place in connection.places[subscription.pattern] ?? []
            where connection.reading.cursors[place].name.name == name {
                connection.reading.cursors[place].limit(to: limit)
            }
        }
    }

    /// Ends the subscriptions that are not durable, and returns when their handlers have received every
    /// message delivered so far.
    public func drainSubscriptions(timeout: Duration) async {
        let queues: [HandlerQueue<InboundMessage>]? = try? await mailbox().ask { $1(.success($0.drain())) }
        for queue in queues ?? [] { await queue.finish() }
    }

    // MARK: Requests

    /// Throws `BridgeError.Code.unsupported`: a file carries no requests.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        _ = try mailbox(message.subject)
        throw BridgeError(.unsupported, subject: message.subject, detail: "a file carries no requests")
    }

    /// Throws `BridgeError.Code.unsupported`: a file carries no requests.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        _ = try mailbox(subject)
        throw BridgeError(.unsupported, subject: subject, detail: "a file carries no requests")
    }

    // MARK: Last values

    /// Stores a last value.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        try check(message)
        let revision = try await mailbox(message.subject).ask { $0.store(message, ifNone: false, $1) }
        return revision!  // only `ifNone` returns nil
    }

    /// Stores a last value, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try check(message)
        return try await mailbox(message.subject).ask { $0.store(message, ifNone: true, $1) }
    }

    /// Watches the last values of the subjects that match a pattern.
    public func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        let connection = try phase.connection(for: pattern.text)
        let queue = connection.queue(onValue)
        try await connection.mailbox.ask { $0.watch(pattern, queue, $1) }
    }
}

extension TransportMessage {
    /// Throws ``BridgeError/Code/payloadTooLarge`` if the body is larger than a limit.
    func check(upTo limit: Int) throws {
        guard body.count <= limit else {
            throw BridgeError(.payloadTooLarge, subject: subject, detail: "\(body.count) bytes, the limit is \(limit)")
        }
    }
}
#endif
