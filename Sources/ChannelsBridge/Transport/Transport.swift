public import Channels

/// A connection to a message broker, as a ``Bridge`` uses it.
///
/// Conform a client library of your choice to carry channels over its broker; ``InMemoryTransport`` is the
/// example, and the module `ChannelsBridgeTesting` has the suite that checks a conformance.
///
/// ## Life
///
/// A transport belongs to one bridge and lives once: ``connect(onEvent:)``, then any number of calls of the
/// other methods, in any order and from any task at the same time, then ``close(within:)``. After that, and
/// before `connect` has returned, every method but `close` throws ``BridgeError/Code/notConnected`` or
/// ``BridgeError/Code/closed``. When the connection breaks later, the transport restores it and its
/// subscriptions by itself and says so by events.
///
/// ## Behavior
///
/// - Every subject and every header it is handed is valid: see ``TransportMessage``. A message that a broker
///   sends with an invalid one is reported as ``TransportEvent/failed(_:)`` and not delivered.
/// - No method blocks a thread. A method that has to wait suspends, and throws `CancellationError` or returns
///   soon after its task is cancelled.
/// - Handlers are called without a lock held, one call at a time for each subscription, in the order in which
///   the broker delivers. They return soon and do not block: they put the message into a buffer. Different
///   subscriptions may be called at the same time.
/// - Messages that one task publishes one after the other on one subject arrive in that order, durable ones
///   too.
/// - A process receives its own messages where it subscribes to them; the bridge sorts them out.
/// - Failures are ``BridgeError``s with the subject involved. What happens without a caller is an event.
public protocol Transport: Sendable {
    /// What it can do beyond publishing and subscribing at most once. Known before `connect`, and constant.
    var capabilities: TransportCapabilities { get }

    /// Connects to the broker; returns when messages can be published.
    ///
    /// - Parameter onEvent: Called for each event, from any thread, one call at a time; first with
    ///   ``TransportEvent/connected``, before `connect` returns.
    /// - Throws: ``BridgeError/Code/notConnected``, ``BridgeError/Code/authenticationFailed``,
    ///   ``BridgeError/Code/certificateRejected``.
    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws

    /// Publishes a message.
    ///
    /// Where it is not durable, returns when the message is in the connection's buffer: at most once, and
    /// accepted does not mean delivered. Waits where the buffer drains; while there is no connection, the
    /// buffer is bounded, and a full one throws ``BridgeError/Code/bufferFull``.
    ///
    /// Where it is durable, returns when the broker has acknowledged that it keeps the message: at least
    /// once. A message published again with the same header ``TransportHeaders/id`` may be dropped by the
    /// broker, and is acknowledged.
    ///
    /// - Throws: ``BridgeError/Code/notConnected``, ``BridgeError/Code/bufferFull``,
    ///   ``BridgeError/Code/payloadTooLarge``, ``BridgeError/Code/permissionDenied``; where durable also
    ///   ``BridgeError/Code/notAcknowledged`` and ``BridgeError/Code/unsupported``. After `notAcknowledged`
    ///   the broker may have the message or not.
    func publish(_ message: TransportMessage, durable: Bool) async throws

    /// Has the messages of every subject that matches a pattern handed over, until the transport is closed.
    ///
    /// When it returns, the subscription is in effect: what anybody on the same broker publishes from then on
    /// is handed over. The same holds for ``respond(to:onRequest:)`` and ``watch(_:onValue:)``.
    ///
    /// - Parameters:
    ///   - pattern: A subject, or a pattern with `*` and `>` as in `ChannelPattern`.
    ///   - durableName: Where nil: what is published from now on, durable or not, at most once. Otherwise:
    ///     the durable messages that nobody of this name and pattern has settled yet, from when this name and
    ///     pattern first subscribed or earlier, at least once; each has an ``InboundMessage/settle``. Whether
    ///     it gets messages on these subjects that were not published as durable is the broker's business.
    ///     Closing keeps the name's place at the broker. Where several processes subscribe by one name and
    ///     pattern, each message goes to one of them. What is not settled when a connection ends, or for as
    ///     long as the broker waits, is delivered again.
    ///   - onMessage: Called for each message.
    /// - Throws: ``BridgeError/Code/permissionDenied`` where the broker says so in time, else that is an
    ///   event; ``BridgeError/Code/unsupported``.
    func subscribe(
        to pattern: ChannelPattern,
        durableName: String?,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws

    /// Sends a request and waits for the one reply.
    ///
    /// - Throws: ``BridgeError/Code/noResponder`` at once where the broker knows that nobody responds;
    ///   ``BridgeError/Code/timedOut``.
    func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply

    /// Has the requests of a subject handed over, until the transport is closed. Of several transports that
    /// respond, one gets each request.
    ///
    /// - Parameter onRequest: Called for each request. It replies later, from any task.
    func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws

    /// Stores a message as the last value of its subject, in place of the one before.
    ///
    /// - Returns: The revision of the value: higher for each value stored for the subject, by whomever.
    /// - Throws: As ``publish(_:durable:)`` of a durable message.
    func store(_ message: TransportMessage) async throws -> UInt64

    /// Has the last value of a subject handed over, and every value stored later, until the transport is
    /// closed.
    ///
    /// - Parameters:
    ///   - subject: The subject.
    ///   - onValue: Called for the value that is stored now, if there is one, before `watch` returns; then
    ///     for later ones by rising revision, no revision twice. Values that have been replaced meanwhile may
    ///     be left out; the last one is not, also after a reconnection.
    func watch(_ subject: String, onValue: @escaping @Sendable (StoredValue) -> Void) async throws

    /// Ends the connection. No handler is called after it has returned; calling it again does nothing.
    ///
    /// Takes in no more messages, sends what was published before, and then lets go of everything, also where
    /// that could not be done in time. Durable messages that were not settled are delivered again soon, to
    /// whoever subscribes by the name. Calls of other methods that are under way throw
    /// ``BridgeError/Code/closed``.
    ///
    /// - Parameter deadline: How long it may take to send what is in the buffer.
    /// - Throws: ``BridgeError/Code/deadlineExceeded`` where published messages were, or may have been, lost.
    func close(within deadline: Duration) async throws
}

extension Transport {
    /// Throws ``BridgeError/Code/unsupported``: for transports without ``TransportCapabilities/requests``.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        throw BridgeError(.unsupported, subject: message.subject, detail: "\(Self.self) has no requests")
    }

    /// Throws ``BridgeError/Code/unsupported``: for transports without ``TransportCapabilities/requests``.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        throw BridgeError(.unsupported, subject: subject, detail: "\(Self.self) has no requests")
    }

    /// Throws ``BridgeError/Code/unsupported``: for transports without ``TransportCapabilities/lastValues``.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        throw BridgeError(.unsupported, subject: message.subject, detail: "\(Self.self) has no last values")
    }

    /// Throws ``BridgeError/Code/unsupported``: for transports without ``TransportCapabilities/lastValues``.
    public func watch(_ subject: String, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        throw BridgeError(.unsupported, subject: subject, detail: "\(Self.self) has no last values")
    }
}
