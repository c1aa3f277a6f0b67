#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch
import Foundation
import Synchronization

/// A subscription, with a thread of the C client that calls the handler for one message at a time. It is
/// restored on each connection.
///
/// All mutable state is guarded by `state`.
final class NATSSubscription: Sendable {
    typealias Handler = @Sendable (OpaquePointer) -> Void

    struct State {
        /// Nil while there is no connection.
        var pointer: LibrarySubscription?
        var isCancelled = false
        /// How many dropped messages of the current subscription of the C client have been reported.
        var reportedDrops: Int64 = 0
        var isWatchingDrops = false
        var refusal = RefusalState()
    }

    let subject: String
    let group: String?
    let connection: NATSConnection
    private let handler: Handler
    /// Subscriptions are restored in the order of their numbers, which is that of their creation.
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
        // Ended on the control queue, because that writes to the socket and may block.
        let pointer = state.withLock { $0.pointer }
        if let pointer { connection.control.async { [connection] in connection.free(pointer) } }
    }

    /// Subscribes, and returns when the subscription is in effect at the server.
    ///
    /// - Parameter handler: Called on a thread of the C client with a message that is valid only during the
    ///   call. It must not block.
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
                // There is no connection now. The subscription begins as soon as there is one.
                outcome.finish(.success(()))
            }
            return subscription
        }
        try await outcome.valueUnlessCancelled()
        return subscription
    }

    /// Begins the subscription, or throws if the server does not answer. Called on the control queue.
    ///
    /// - Parameter onOutcome: Called once unless this throws: with the server's refusal, or with nil once a
    ///   refusal would have arrived.
    func begin(on library: LibraryConnection, _ onOutcome: @escaping @Sendable (BridgeError?) -> Void) throws {
        let confirmation = Confirmation(subscription: self, onOutcome: onOutcome)
        connection.state.withLock { $0.confirming.append(confirmation) }
        let wait: DispatchTimeInterval?
        do {
            try begin(on: library)
            wait = try timeUntilRefusal(on: library)
        } catch {
            // If the confirmation is gone, its outcome has been reported meanwhile.
            guard connection.takeConfirmation(of: number) != nil else { return }
            throw error
        }
        let confirm: @Sendable () -> Void = { [connection, number] in
            connection.takeConfirmation(of: number)?.onOutcome(nil)
        }
        if let wait { connection.onControl(after: wait, confirm) } else { confirm() }
    }

    /// Begins again on another connection. Called on the control queue.
    func restore(on library: LibraryConnection) {
        let isCancelled = state.withLock { state in
            state.refusal.restart()
            return state.isCancelled
        }
        if isCancelled { return }
        do {
            try begin(on: library)
        } catch {
            // If the connection was lost again, that is noticed elsewhere. Any other error is reported only
            // here.
            connection.onEvent(.failed(BridgeError(wrapping: error)))
        }
    }

    /// Whether this is the subscription of the C client.
    func wraps(_ pointer: OpaquePointer) -> Bool {
        state.withLock { $0.pointer?.pointer == pointer }
    }

    private func begin(on library: LibraryConnection) throws {
        // Released by `subscriptionCompleted`, after the thread of the subscription has called the handler
        // for the last time. The box retains the connection, so that it outlives every handler.
        let box = Unmanaged.passRetained(SubscriptionBox(handler, connection))
        // Counted before the subscription exists, because closing the connection waits for it.
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
        // This fails only if the subscription has ended meanwhile with its connection. Its thread may still
        // be running, so the box is never released.
        if natsSubscription_SetOnCompleteCB(pointer, subscriptionCompleted, closure) != NATS_OK {
            connection.subscriptionEnded()
        }
        let limit = Int32(clamping: connection.configuration.incomingLimit)
        let byteLimit = Int32(clamping: max(1, connection.configuration.incomingByteLimit))
        natsSubscription_SetPendingLimits(pointer, max(1, limit), byteLimit)
        let (before, isCancelled) = state.withLock { state in
            defer { (state.pointer, state.reportedDrops) = (LibrarySubscription(pointer: pointer), 0) }
            return (state.pointer, state.isCancelled)
        }
        if let before { connection.free(before) }
        if isCancelled { natsSubscription_Unsubscribe(pointer) }
    }

    /// A subscription whose outcome is awaited.
    struct Confirmation {
        let subscription: NATSSubscription
        let onOutcome: @Sendable (BridgeError?) -> Void
    }

    /// Flushes the connection, after which a refusal has arrived. A server reports a refusal asynchronously
    /// but in order: before it answers a ping. The C client then reports it on another thread. Its last
    /// error, which can be read at once, may be an old or an unrelated one.
    ///
    /// - Returns: How long to wait for the report; nil if there is no refusal.
    private func timeUntilRefusal(on library: LibraryConnection) throws -> DispatchTimeInterval? {
        let status = connection.flush(library, timeout: connection.configuration.requestTimeout.milliseconds)
        if status == NATS_TIMEOUT { throw BridgeError(status, doing: "subscribing to \(subject)", subject: subject) }
        // If the connection was lost, the subscription begins on the next one.
        guard status == NATS_OK else { return nil }
        var text: UnsafePointer<CChar>?
        guard natsConnection_GetLastError(library.pointer, &text) == NATS_NOT_PERMITTED else { return nil }
        let isLikely = BridgeError(NATS_NOT_PERMITTED, saying: text).refuses(subject, group: group)
        return isLikely ? .seconds(1) : .milliseconds(250)
    }

    /// Called when the C client begins to drop messages. It reports nothing more, so their number is polled
    /// until it has stopped.
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

    /// Called on the control queue, because the subscription of the C client is replaced there.
    private func reportDrops() {
        var (total, waiting, bytes): (Int64, Int32, Int32) = (0, 0, 0)
        guard let pointer = state.withLock({ $0.pointer })?.pointer,
            natsSubscription_GetDropped(pointer, &total) == NATS_OK
        else { return state.withLock { $0.isWatchingDrops = false } }
        natsSubscription_GetPending(pointer, &waiting, &bytes)
        // Half of the bytes, because the next message may need more than are left.
        let configuration = connection.configuration
        let isFull = waiting >= configuration.incomingLimit || bytes > configuration.incomingByteLimit / 2
        let (count, goesOn) = state.withLock { state in
            defer { state.reportedDrops = total }
            // Polled once more after it has stopped, because it reports the next time only if there was space
            // in between.
            state.isWatchingDrops = isFull || total > state.reportedDrops
            return (Int(total - state.reportedDrops), state.isWatchingDrops)
        }
        if count > 0 { connection.onEvent(.slowConsumer(subject: subject, dropped: count)) }
        if goesOn { watchDrops() }
    }

    /// Ends the subscription, and returns when the C client has been told. The handler may still be running,
    /// and may be called once more for a message that was already received.
    func cancel() async {
        await end { natsSubscription_Unsubscribe($0) }
    }

    /// Ends the subscription, and returns when the handler has been called for everything that the server has
    /// sent for it, when there is no connection, or at the deadline.
    func drain(until deadline: ContinuousClock.Instant) async {
        await end { [connection] pointer in
            connection.drain(pointer, timeout: max(0, ContinuousClock.now.duration(to: deadline).milliseconds))
        }
    }

    /// - Parameter body: Called on the control queue with the subscription of the C client.
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
private final class SubscriptionBox: @unchecked Sendable {  // `spent` is used only by that thread and the deinit
    let handler: NATSSubscription.Handler
    let connection: NATSConnection
    /// The latest handled messages, which are freed together. Unchecked, because one thread uses it, without
    /// nested accesses.
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
    // Retained until `subscriptionCompleted`, which is called after the last of these calls.
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
