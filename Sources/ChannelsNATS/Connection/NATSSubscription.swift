#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch

/// One subscription: one thread of the C client, which runs the handler for one message after the other.
///
/// Guarded by `drops`: what was reported of the messages that were dropped.
final class NATSSubscription: Sendable {
    let subject: String
    private let connection: NATSConnection
    private let pointer: LibraryPointer
    private let isCancelled = Locked(false)
    private let drops = Locked((reported: Int64(0), isWatching: false))

    private init(_ subject: String, _ connection: NATSConnection, _ pointer: LibraryPointer) {
        self.subject = subject
        self.connection = connection
        self.pointer = pointer
    }

    deinit {
        let pointer = pointer
        connection.remove(pointer.pointer)
        // Also ends the subscription, if it has not ended. It writes to the socket, which may wait.
        connection.onControlLater { [connection] in
            withExtendedLifetime(connection) { natsSubscription_Destroy(pointer.pointer) }
        }
    }

    /// Subscribes, and returns when the server has heard of it: what is posted afterwards, by anybody,
    /// arrives.
    ///
    /// - Parameter handler: Called on a thread of the C client; nil for a message that cannot be read. It
    ///   must not wait.
    static func subscribe(
        to pattern: String,
        group: String? = nil,
        on connection: NATSConnection,
        handler: @escaping @Sendable (NATSMessage?) -> Void
    ) async throws -> NATSSubscription {
        try await subscribe(to: pattern, group: group, on: connection, libraryHandler: { handler(NATSMessage($0)) })
    }

    /// The same, for handlers that read what they need out of the C client's message themselves. It is freed
    /// when the handler has returned.
    static func subscribe(
        to pattern: String,
        group: String? = nil,
        on connection: NATSConnection,
        libraryHandler handler: @escaping @Sendable (OpaquePointer) -> Void
    ) async throws -> NATSSubscription {
        try WireRules.check(pattern: pattern)
        if let group { try WireRules.check(subject: group) }
        return try await connection.onControl {
            try subscribeNow(to: pattern, group: group, on: connection, handler: handler)
        }
    }

    private static func subscribeNow(
        to pattern: String,
        group: String?,
        on connection: NATSConnection,
        handler: @escaping @Sendable (OpaquePointer) -> Void
    ) throws -> NATSSubscription {
        guard let library = connection.state.withLock({ $0.isClosing ? nil : $0.library }) else {
            throw BridgeError(.closed, subject: pattern, "the connection was closed")
        }
        // Freed by `subscriptionCompleted`, when the thread of the subscription has run the handler for the
        // last time. The connection is held so that it outlives every handler.
        let box = Unmanaged.passRetained(SubscriptionBox(handler, connection))
        var pointer: OpaquePointer?
        let status =
            if let group {
                natsConnection_QueueSubscribe(
                    &pointer,
                    library.pointer,
                    pattern,
                    group,
                    subscriptionReceived,
                    box.toOpaque()
                )
            } else {
                natsConnection_Subscribe(&pointer, library.pointer, pattern, subscriptionReceived, box.toOpaque())
            }
        guard status == NATS_OK, let pointer else {
            // There was no subscription, so no thread has seen the box.
            box.release()
            throw BridgeError(status, doing: "subscribing to \(pattern)", subject: pattern)
        }
        // Refused only where the subscription has ended meanwhile, with its connection. Its thread may then
        // still run: the box stays for ever.
        connection.subscriptionBegan()
        if natsSubscription_SetOnCompleteCB(pointer, subscriptionCompleted, box.toOpaque()) != NATS_OK {
            connection.subscriptionEnded()
        }
        let limit = Int32(clamping: connection.configuration.incomingLimit)
        natsSubscription_SetPendingLimits(pointer, max(1, limit), .max)
        let subscription = NATSSubscription(pattern, connection, LibraryPointer(pointer))
        connection.add(subscription, pointer)
        try confirm(pattern, library.pointer, connection)
        return subscription
    }

    /// A server that refuses a subscription says so on its own time. It answers in order: when the answer to
    /// a ping is here, a refusal is, too.
    private static func confirm(_ pattern: String, _ library: OpaquePointer, _ connection: NATSConnection) throws {
        let status = natsConnection_FlushTimeout(library, connection.configuration.requestTimeout.milliseconds)
        // Without a connection now, the C client subscribes again as soon as there is one.
        guard status == NATS_OK else { return }
        var text: UnsafePointer<CChar>?
        guard natsConnection_GetLastError(library, &text) == NATS_NOT_PERMITTED else { return }
        let error = BridgeError(NATS_NOT_PERMITTED, saying: text)
        if error.subject == pattern, error.description.contains("Subscription") { throw error }
    }

    /// The C client says only that it begins to drop. How many it drops is looked at until it has stopped.
    func becameSlow() {
        let begins = drops.withLock { drops in
            defer { drops.isWatching = true }
            return !drops.isWatching
        }
        if begins { watchDrops() }
    }

    private func watchDrops() {
        connection.onControlLater(after: .milliseconds(50)) { [weak self] in self?.reportDrops() }
    }

    /// On the control queue.
    private func reportDrops() {
        var (total, waiting): (Int64, Int32) = (0, 0)
        guard natsSubscription_GetDropped(pointer.pointer, &total) == NATS_OK else { return }
        natsSubscription_GetPending(pointer.pointer, &waiting, nil)
        let isFull = waiting >= Int32(clamping: max(1, connection.configuration.incomingLimit))
        let (count, goesOn) = drops.withLock { drops in
            defer { drops.reported = total }
            // Once more after it has stopped: it says that it begins only when there was space in between.
            drops.isWatching = isFull || total > drops.reported
            return (Int(total - drops.reported), drops.isWatching)
        }
        if count > 0 { connection.onEvent(.slowConsumer(subject: subject, dropped: count)) }
        if goesOn { watchDrops() }
    }

    /// Ends the subscription; returns when the C client knows. The handler may still be running, and for what
    /// the client had received it may be called once more.
    func cancel() async {
        let isFirst = isCancelled.withLock { isCancelled in
            defer { isCancelled = true }
            return !isCancelled
        }
        guard isFirst else { return }
        let pointer = pointer
        _ = try? await connection.onControl { _ = natsSubscription_Unsubscribe(pointer.pointer) }
    }
}

/// What a thread of the C client holds on to while its subscription lives.
private final class SubscriptionBox: Sendable {
    let handler: @Sendable (OpaquePointer) -> Void
    let connection: NATSConnection

    init(_ handler: @escaping @Sendable (OpaquePointer) -> Void, _ connection: NATSConnection) {
        self.handler = handler
        self.connection = connection
    }
}

private func subscriptionReceived(
    _: OpaquePointer?,
    _: OpaquePointer?,
    _ message: OpaquePointer?,
    _ closure: UnsafeMutableRawPointer?
) {
    guard let message, let closure else { return }
    // Retained until `subscriptionCompleted`, which comes after the last of these calls.
    let box = Unmanaged<SubscriptionBox>.fromOpaque(closure)
    box._withUnsafeGuaranteedRef { box in
        box.handler(message)
        natsMsg_Destroy(message)
    }
}

private func subscriptionCompleted(_ closure: UnsafeMutableRawPointer?) {
    guard let closure else { return }
    // Retained when the subscription was made; no handler runs any more.
    Unmanaged<SubscriptionBox>.fromOpaque(closure).takeRetainedValue().connection.subscriptionEnded()
}
#endif
