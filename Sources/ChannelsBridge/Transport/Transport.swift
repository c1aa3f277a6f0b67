public import Channels

/// A connection to a message broker, used by a ``Bridge``.
///
/// Wrap a client library in a transport to carry channels over its broker. ``InMemoryTransport`` is an
/// example. The module `ChannelsBridgeTesting` has a suite that checks whether a transport conforms.
///
/// ## Lifecycle
///
/// A transport belongs to one bridge. The bridge calls ``connect(onEvent:)``, then any number of other
/// methods, in any order and concurrently, then ``close(timeout:)``. After that, or after a `connect` that
/// threw, it may connect again; no subscription or request of the earlier connection remains. Before
/// `connect` has returned, and after `close`, every other method throws ``BridgeError/Code/notConnected`` or
/// ``BridgeError/Code/closed``. If the connection breaks, the transport restores it together with its
/// subscriptions, and reports the loss and the return as events.
///
/// ## Behavior
///
/// - Every subject and header passed to the transport is valid, as ``TransportMessage`` guarantees. If the
///   broker delivers a message with an invalid header, the transport leaves out or escapes the header. If the
///   subject is invalid, the transport reports ``TransportEvent/failed(_:)`` and drops the message.
/// - Subjects, patterns, groups and durable names are equal if their Unicode scalars are. Use the bytes of a
///   `String` as a key, because a `String` also equals its canonical equivalents: `é` as one scalar equals
///   `é` as two.
/// - No method blocks a thread. A method that has to wait suspends; soon after its task is cancelled, it
///   throws `CancellationError` or returns.
/// - Handlers are called with no lock held, one call at a time per subscription, in the order in which the
///   broker delivers. A handler does not block: it puts the message into a buffer. Handlers of different
///   subscriptions may run concurrently.
/// - Messages that one task publishes on one subject arrive in that order, including durable ones.
/// - A process also receives its own messages if it subscribes to them; the bridge filters them out, unless a
///   route delivers them under another name.
/// - Failures are ``BridgeError``s that name the subject involved. Failures outside a call are reported as
///   events.
public protocol Transport: Sendable {
    /// What the transport can do beyond at-most-once delivery. Constant, and known before `connect`.
    var capabilities: TransportCapabilities { get }

    /// Connects to the broker, and returns when messages can be published.
    ///
    /// It makes a single attempt; a bridge retries. If it throws, there is no connection: the transport is not closed,
    /// and may be connected again.
    ///
    /// - Parameter onEvent: Called for each event, from any thread, one call at a time. The first event is
    ///   ``TransportEvent/connected``, before `connect` returns.
    /// - Throws: ``BridgeError/Code/notConnected`` if a later attempt may succeed;
    ///   ``BridgeError/Code/authenticationFailed`` and ``BridgeError/Code/certificateRejected``, which end
    ///   the bridge. ``BridgeError/Code/alreadyRunning`` if it is already connected.
    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws

    /// Publishes a message.
    ///
    /// Without `durable`, it returns when the message is in the connection's buffer. Delivery is at most
    /// once: accepted does not mean delivered. If the buffer is full, the call waits while the connection
    /// drains it; while there is no connection, it throws ``BridgeError/Code/bufferFull``.
    ///
    /// With `durable`, it returns when the broker has acknowledged that it stored the message. Delivery is at
    /// least once. A message published again with the same header ``TransportHeaders/id`` is acknowledged and
    /// may be dropped by the broker.
    ///
    /// - Throws: ``BridgeError/Code/notConnected``, ``BridgeError/Code/bufferFull``,
    ///   ``BridgeError/Code/payloadTooLarge``, ``BridgeError/Code/permissionDenied``; with `durable` also
    ///   ``BridgeError/Code/notAcknowledged``, after which the broker may or may not have the message,
    ///   ``BridgeError/Code/notStored`` while it stores no messages on the subject, and
    ///   ``BridgeError/Code/unsupported``.
    func publish(_ message: TransportMessage, durable: Bool) async throws

    /// Publishes a durable message without waiting for the acknowledgement.
    ///
    /// It returns when the message is in the connection's buffer, so that calls of one task keep their order
    /// while several messages await their acknowledgements. It makes a single attempt. The default
    /// implementation publishes and waits.
    ///
    /// What a lost connection leaves unacknowledged fails before anything is published on the next one; otherwise later
    /// messages could be stored first.
    ///
    /// - Parameters:
    ///   - message: The message, with the header ``TransportHeaders/id``.
    ///   - isRepeated: Whether an earlier attempt may have been stored. If not, and the broker says that it
    ///     already has a message with this identifier, the result is
    ///     ``BridgeError/Code/duplicateIdentifier``.
    ///   - onResult: Called once, from any thread, with nil when the broker has stored the message. It does
    ///     not block. Not called if the method throws.
    /// - Throws: The errors of ``publish(_:durable:)``; if there is no connection, without delay.
    func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws

    /// Subscribes to every subject that matches a pattern, until the transport is closed.
    ///
    /// When it returns, the subscription is in effect: every message that any client publishes from then on
    /// is delivered. If it throws, there is no subscription. The caller may try again on the same connection;
    /// a bridge does so for errors that waiting may resolve. This also holds for ``respond(to:onRequest:)``
    /// and ``watch(_:onValue:)``.
    ///
    /// A new durable name starts with the oldest stored message, unless ``TransportSubscription/start`` says
    /// otherwise. Each of its messages has an ``InboundMessage/settle``. Whether it also receives messages
    /// that were published without `durable` depends on the broker. The broker keeps the name after the
    /// transport is closed. Messages that are unsettled when the connection ends, or when the broker's
    /// acknowledgement wait is over, are delivered again. No more than
    /// ``TransportSubscription/prefetchLimit`` messages are unsettled at a time.
    ///
    /// - Parameters:
    ///   - subscription: The pattern and, for durable messages, the name and how much to fetch.
    ///   - onMessage: Called for each message.
    /// - Throws: ``BridgeError/Code/permissionDenied`` if the broker reports it in time (otherwise it is an
    ///   event); ``BridgeError/Code/notStored`` while the broker stores no messages that match;
    ///   ``BridgeError/Code/unsupported``.
    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws

    /// Changes how many unsettled messages of a durable name this transport may hold, instead of the
    /// ``TransportSubscription/prefetchLimit``. It does not wait.
    ///
    /// A bridge begins with one message, so that a message which ends the process takes no others with it. It
    /// returns to one while listeners only fail, and to none when it ends. Messages that the transport holds
    /// already stay with it.
    ///
    /// - Parameters:
    ///   - limit: How many; with 0, no more messages are taken.
    ///   - subscription: The durable name and pattern. Others are left alone, as is one that is not subscribed.
    func limitPrefetch(to limit: Int, of subscription: TransportSubscription)

    /// Sends a request and waits for its reply.
    ///
    /// - Parameter timeout: How long to wait. It may be so long that adding it to an instant overflows. With
    ///   zero or less, nothing is sent.
    /// - Throws: ``BridgeError/Code/noResponder`` immediately if the broker knows that there is no responder;
    ///   ``BridgeError/Code/timedOut``.
    func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply

    /// Receives the requests on a subject, until the transport is closed.
    ///
    /// If several transports respond, each request goes to one of them.
    ///
    /// - Parameter onRequest: Called for each request. The reply may come later, from any task.
    func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws

    /// Stores a message as the last value of its subject, replacing the previous one.
    ///
    /// - Returns: The revision of the value, which increases with each value stored for the subject by any
    ///   client. Revisions of different subjects cannot be compared.
    /// - Throws: The errors of ``publish(_:durable:)`` for a durable message.
    func store(_ message: TransportMessage) async throws -> UInt64

    /// Stores a message as the last value of its subject, if there is none.
    ///
    /// The default implementation always stores it, so a process that starts may replace the values of
    /// others.
    ///
    /// - Returns: The revision of the value; nil if there is another value, which ``watch(_:onValue:)``
    ///   delivers.
    /// - Throws: The errors of ``store(_:)``.
    func storeIfNone(_ message: TransportMessage) async throws -> UInt64?

    /// Watches the last values of every subject that matches a pattern, until the transport is closed.
    ///
    /// - Parameters:
    ///   - pattern: A subject, or a pattern with `*` and `>`.
    ///   - onValue: Called for the currently stored value of each subject that has one, before `watch` returns;
    ///     then for later values, including those of subjects that had none. ``StoredValue/message`` has the
    ///     subject. Values of one subject arrive in order of revision, and no revision arrives twice. Values
    ///     that have been replaced may be skipped, but the last value of a subject never is, even after a
    ///     reconnection.
    func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws

    /// Ends the subscriptions to requests and to messages that are not durable, so that other group members
    /// receive them from now on.
    ///
    /// It returns when every message and request that the broker has delivered to this connection has reached
    /// its handler, or when that is impossible. A bridge that ends calls it before its listeners finish,
    /// because no other member would receive these messages. The default implementation does nothing.
    ///
    /// - Parameter timeout: How long it may take.
    func drainSubscriptions(timeout: Duration) async

    /// Reports what is stored, for monitoring.
    ///
    /// It is called at intervals, so it should read no more than the waiting messages. The default
    /// implementation throws ``BridgeError/Code/unsupported``.
    ///
    /// - Parameter deadLetters: The subject under which dead letters are kept; nil if none are kept.
    func storeStatus(deadLetters: String?) async throws -> [StoreStatus]

    /// Closes the connection.
    ///
    /// No handler is called after it has returned. Calling it again does nothing.
    ///
    /// It stops receiving, sends the messages in the buffer, and then releases everything, even if not all of
    /// them could be sent in time. Unsettled durable messages are soon delivered again, to another subscriber
    /// of the name. Pending calls of other methods throw ``BridgeError/Code/closed``.
    ///
    /// - Parameter timeout: How long sending the buffer may take.
    /// - Throws: ``BridgeError/Code/closingTimedOut`` if published messages were, or may have been, lost.
    func close(timeout: Duration) async throws
}

extension Transport {
    /// Throws ``BridgeError/Code/unsupported``, which suits transports that store nothing.
    public func storeStatus(deadLetters: String?) async throws -> [StoreStatus] {
        throw BridgeError(.unsupported, detail: "\(Self.self) does not list what is stored")
    }

    /// Stores a message as the last value of its subject, whether or not there is one.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        try await store(message)
    }

    /// Does nothing, which suits transports without ``TransportCapabilities/groups`` and
    /// ``TransportCapabilities/requests``.
    public func drainSubscriptions(timeout: Duration) async {}

    /// Publishes a durable message, and waits for the acknowledgement.
    public func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        try await publish(message, durable: true)
        onResult(nil)
    }

    /// Does nothing, which suits transports without ``TransportCapabilities/durable``.
    public func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {}

    /// Subscribes to a pattern, with the default limits.
    public func subscribe(
        to pattern: ChannelPattern,
        durableName: String? = nil,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        try await subscribe(TransportSubscription(to: pattern, durableName: durableName), onMessage: onMessage)
    }

    /// Throws ``BridgeError/Code/unsupported``, which suits transports without
    /// ``TransportCapabilities/requests``.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        throw BridgeError(.unsupported, subject: message.subject, detail: "\(Self.self) has no requests")
    }

    /// Throws ``BridgeError/Code/unsupported``, which suits transports without
    /// ``TransportCapabilities/requests``.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        throw BridgeError(.unsupported, subject: subject, detail: "\(Self.self) has no requests")
    }

    /// Throws ``BridgeError/Code/unsupported``, which suits transports without
    /// ``TransportCapabilities/lastValues``.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        throw BridgeError(.unsupported, subject: message.subject, detail: "\(Self.self) has no last values")
    }

    /// Throws ``BridgeError/Code/unsupported``, which suits transports without
    /// ``TransportCapabilities/lastValues``.
    public func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        throw BridgeError(.unsupported, subject: pattern.text, detail: "\(Self.self) has no last values")
    }
}
