#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch
import Foundation
import Synchronization

/// One subscription: one thread of the C client, which calls the handler for one message at a time. It is
/// restored on each connection.
///
/// `state` guards the subscription of the C client, the reported drops, and how often the server has refused
/// the subscription.
final class NATSSubscription: Sendable {
    typealias Handler = @Sendable (OpaquePointer) -> Void

    struct State {
        /// Nil while there is no connection.
        var pointer: LibrarySubscription?
        var isCancelled = false
        /// The dropped messages that were reported, of this subscription of the C client.
        var reportedDrops: Int64 = 0
        var isWatchingDrops = false
        /// How often it was begun.
        var beginnings = 0
        /// How often the server has refused it, or taken it away, since it was in effect.
        var refusals = 0
    }

    let subject: String
    let group: String?
    let connection: NATSConnection
    private let handler: Handler
    /// They are restored in the order in which they were made.
    let number = NATSSubscription.last.wrappingAdd(1, ordering: .relaxed).newValue
    private static let last = Atomic<UInt64>(0)
    let state = Locked(State())

    private init(_ subject: String, _ group: String?, _ connection: NATSConnection, _ handler: @escaping Handler) {
        self.subject = subject
        self.group = group
        self.connection = connection
        self.handler = handler
        connection.add(self)
    }

    deinit {
        connection.remove(number)
        // It writes to the socket, which may block.
        let pointer = state.withLock { $0.pointer }
        if let pointer { connection.control.async { [connection] in connection.free(pointer) } }
    }

    /// Subscribes, and returns when the subscription is in effect at the server.
    ///
    /// - Parameter handler: Called on a thread of the C client with its message, which is freed when it returns. It
    ///   must not block.
    static func subscribe(
        to pattern: String,
        group: String? = nil,
        on connection: NATSConnection,
        handler: @escaping Handler
    ) async throws -> NATSSubscription {
        try WireRules.check(pattern: pattern)
        if let group { try WireRules.check(subject: group) }
        let outcome = FirstResult<Void>()
        let subscription = try await connection.onControl {
            let (library, isClosing) = connection.state.withLock { ($0.library, $0.isClosing) }
            guard !isClosing else { throw BridgeError(.closed, subject: pattern, "the connection was closed") }
            let subscription = NATSSubscription(pattern, group, connection, handler)
            if let library {
                try subscription.begin(on: library) { error in
                    outcome.finish(error.map { .failure($0) } ?? .success(()))
                }
            } else {
                // It begins as soon as there is a connection.
                outcome.finish(.success(()))
            }
            return subscription
        }
        try await outcome.valueUnlessCancelled()
        return subscription
    }

    /// On the control queue. Throws if the server does not answer.
    ///
    /// - Parameter onOutcome: Called once, unless this throws: with the server's refusal, or with nil once a
    ///   refusal would have arrived.
    func begin(on library: LibraryConnection, _ onOutcome: @escaping @Sendable (BridgeError?) -> Void) throws {
        let confirmation = Confirmation(subscription: self, onOutcome: onOutcome)
        connection.state.withLock { $0.confirming.append(confirmation) }
        let wait: DispatchTimeInterval?
        do {
            try begin(on: library)
            wait = try timeUntilRefusal(on: library)
        } catch {
            // The outcome is the one reported meanwhile.
            guard connection.takeConfirmation(of: number) != nil else { return }
            throw error
        }
        let confirm: @Sendable () -> Void = { [connection, number] in
            connection.takeConfirmation(of: number)?.onOutcome(nil)
        }
        if let wait { connection.onControl(after: wait, confirm) } else { confirm() }
    }

    /// On the control queue.
    func restore(on library: LibraryConnection) {
        let isCancelled = state.withLock { state in
            // What another connection has refused.
            state.refusals = 0
            return state.isCancelled
        }
        if isCancelled { return }
        do {
            try begin(on: library)
        } catch {
            // The connection is lost again, which is noticed elsewhere, or this is the only word about it.
            connection.onEvent(.failed(BridgeError(wrapping: error)))
        }
    }

    /// Whether this is the subscription of the C client.
    func wraps(_ pointer: OpaquePointer) -> Bool {
        state.withLock { $0.pointer?.pointer == pointer }
    }

    private func begin(on library: LibraryConnection) throws {
        // Released by `subscriptionCompleted`, after the thread of the subscription has called the handler
        // for the last time. The connection is retained so that it outlives every handler.
        let box = Unmanaged.passRetained(SubscriptionBox(handler, connection))
        // Before there is one: who closes the connection waits for it.
        connection.state.withLock { $0.liveSubscriptions += 1 }
        let closure = box.toOpaque()
        var pointer: OpaquePointer?
        let status =
            if let group {
                natsConnection_QueueSubscribe(&pointer, library.pointer, subject, group, subscriptionReceived, closure)
            } else {
                natsConnection_Subscribe(&pointer, library.pointer, subject, subscriptionReceived, closure)
            }
        guard status == NATS_OK, let pointer else {
            // There is no subscription, so no thread has a reference to the box.
            box.release()
            connection.subscriptionEnded()
            if status == NATS_CONNECTION_CLOSED { return }
            throw BridgeError(status, doing: "subscribing to \(subject)", subject: subject)
        }
        // Fails only if the subscription has ended meanwhile, with its connection. Its thread may still be
        // running then, so the box is never released.
        if natsSubscription_SetOnCompleteCB(pointer, subscriptionCompleted, closure) != NATS_OK {
            connection.subscriptionEnded()
        }
        let limit = Int32(clamping: connection.configuration.incomingLimit)
        let byteLimit = Int32(clamping: max(1, connection.configuration.incomingByteLimit))
        natsSubscription_SetPendingLimits(pointer, max(1, limit), byteLimit)
        let (before, isCancelled) = state.withLock { state in
            defer { (state.pointer, state.reportedDrops) = (LibrarySubscription(pointer: pointer), 0) }
            state.beginnings += 1
            return (state.pointer, state.isCancelled)
        }
        if let before { connection.free(before) }
        if isCancelled { natsSubscription_Unsubscribe(pointer) }
    }

    /// The progress of a subscription being made.
    struct Confirmation {
        let subscription: NATSSubscription
        let onOutcome: @Sendable (BridgeError?) -> Void
    }

    /// A server reports a refusal asynchronously, but in order: when the answer to a ping has come, so has
    /// the refusal. The C client then reports it on its own thread. Its last error, read at once, may be an
    /// old or an unrelated one.
    ///
    /// - Returns: How long to wait for that; nil if there is no refusal.
    private func timeUntilRefusal(on library: LibraryConnection) throws -> DispatchTimeInterval? {
        let status = connection.flush(library, timeout: connection.configuration.requestTimeout.milliseconds)
        if status == NATS_TIMEOUT { throw BridgeError(status, doing: "subscribing to \(subject)", subject: subject) }
        // Without a connection, the C client subscribes as soon as there is one.
        guard status == NATS_OK else { return nil }
        var text: UnsafePointer<CChar>?
        guard natsConnection_GetLastError(library.pointer, &text) == NATS_NOT_PERMITTED else { return nil }
        let isLikely = BridgeError(NATS_NOT_PERMITTED, saying: text).refuses(subject, group: group)
        return isLikely ? .seconds(1) : .milliseconds(250)
    }

    /// The C client reports only that it begins to drop messages. Their number is polled until it has
    /// stopped.
    func becameSlow() {
        let begins = state.withLock { state in
            defer { state.isWatchingDrops = true }
            return !state.isWatchingDrops
        }
        if begins { watchDrops() }
    }

    private func watchDrops() {
        connection.onControl(after: .milliseconds(50)) { [weak self] in self?.reportDrops() }
    }

    /// On the control queue, where the subscription of the C client is replaced.
    private func reportDrops() {
        var (total, waiting, bytes): (Int64, Int32, Int32) = (0, 0, 0)
        guard let pointer = state.withLock({ $0.pointer })?.pointer,
            natsSubscription_GetDropped(pointer, &total) == NATS_OK
        else { return state.withLock { $0.isWatchingDrops = false } }
        natsSubscription_GetPending(pointer, &waiting, &bytes)
        // Of the bytes, the next message may need more than are left.
        let configuration = connection.configuration
        let isFull = waiting >= configuration.incomingLimit || bytes > configuration.incomingByteLimit / 2
        let (count, goesOn) = state.withLock { state in
            defer { state.reportedDrops = total }
            // Once more after it has stopped: it reports the next begin only if there was space in between.
            state.isWatchingDrops = isFull || total > state.reportedDrops
            return (Int(total - state.reportedDrops), state.isWatchingDrops)
        }
        if count > 0 { connection.onEvent(.slowConsumer(subject: subject, dropped: count)) }
        if goesOn { watchDrops() }
    }

    /// Ends the subscription, and returns when the C client knows. The handler may still be running, and may
    /// be called once more for a message that was already received.
    func cancel() async {
        await end { natsSubscription_Unsubscribe($0) }
    }

    /// Ends the subscription, and returns when the handler has been called for all that the server has sent because of
    /// it, there is no connection, or the time is over.
    func drain(until deadline: ContinuousClock.Instant) async {
        await end { [connection] pointer in
            connection.drain(pointer, timeout: max(0, ContinuousClock.now.duration(to: deadline).milliseconds))
        }
    }

    /// - Parameter body: Called on the control queue, for the subscription of the C client.
    private func end(_ body: @escaping @Sendable (OpaquePointer) -> Void) async {
        let isFirst = state.withLock { state in
            defer { state.isCancelled = true }
            return !state.isCancelled
        }
        guard isFirst else { return }
        _ = try? await connection.onControl { [self] in
            if let pointer = state.withLock({ $0.pointer }) { body(pointer.pointer) }
        }
    }
}

/// The object that a thread of the C client refers to while its subscription exists.
private final class SubscriptionBox: @unchecked Sendable {  // `spent` is touched by that thread, and by the deinit
    let handler: NATSSubscription.Handler
    let connection: NATSConnection
    /// The last messages that were handled. Unchecked, because the thread is inside one access at a time.
    @exclusivity(unchecked) var spent = SpentMessages()

    init(_ handler: @escaping NATSSubscription.Handler, _ connection: NATSConnection) {
        self.handler = handler
        self.connection = connection
    }

    deinit { spent.destroyAll() }
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
        box.spent.add(message, bytes: Int(natsMsg_GetDataLength(message)))
    }
}

private func subscriptionCompleted(_ closure: UnsafeMutableRawPointer?) {
    guard let closure else { return }
    // Retained when the subscription was made; no handler runs any more.
    Unmanaged<SubscriptionBox>.fromOpaque(closure).takeRetainedValue().connection.subscriptionEnded()
}
#endif
