#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch
import Foundation

/// A connection to the servers, which consists of one connection of the C client after another.
///
/// The C client holds a mutex while it writes to the socket, so any call into it may block for as long as the
/// server is paused. Therefore no call is made on a thread of the cooperative pool. Outgoing messages go
/// through an ``Outbox`` and a writer on one queue, reconnecting runs on another, and all other calls run on
/// a third, the control queue.
///
/// All mutable state is guarded by `state`.
final class NATSConnection: Sendable {
    enum Event: Sendable {
        case disconnected(BridgeError?)
        case reconnected
        /// The connection was lost. Messages bound to it may be lost if they were sent, and are dropped if
        /// they were not.
        case interrupted
        /// The connection was closed, as requested.
        case closed
        /// The server reported an error after the call had returned: for example, that it refuses a subject.
        case failed(BridgeError)
        /// Accepted messages were never sent.
        case unsent(Int, BridgeError)
        /// The C client dropped messages of a subscription. `dropped` is their number since the previous such
        /// event.
        case slowConsumer(subject: String, dropped: Int)
    }

    struct State: ~Copyable {
        var outbox: Outbox
        /// Nil while there is no connection.
        var library: LibraryConnection?
        /// The code of the last reported error of an attempt to reconnect. The same error is not reported
        /// again.
        var reported: BridgeError.Code?
        /// The addresses that servers have announced.
        var discovered: [String] = []
        var maxPayload = Int.max
        /// The last subject that was found valid.
        var validSubject = ""
        var takesMessages = true
        var isClosing = false
        var isClosed = false
        /// The number of subscriptions whose threads may still call a handler.
        var liveSubscriptions = 0
        /// Subscriptions of the C client that have ended but have not been freed, and when each ended.
        var ended: [(subscription: LibrarySubscription, since: ContinuousClock.Instant)] = []
        /// By their numbers.
        var subscriptions: [UInt64: WeakSubscription] = [:]
        /// The subscriptions that are being made, in order.
        var confirming: [NATSSubscription.Confirmation] = []
        /// When the current connection was made, and how many connections in a row before it were
        /// short-lived.
        var connected = ContinuousClock.now
        var shortLived = 0
        /// The callers that wait for space, and those that wait until nothing is left to write. Cancelled
        /// ones may be among them.
        var spaceWaiters: [FirstResult<Void>] = []
        var idleWaiters: [FirstResult<Void>] = []
    }

    let state: Locked<State>
    /// Opens when no callback will be called any more.
    let hasEnded = Latch()
    let configuration: NATSConfiguration
    let onEvent: @Sendable (Event) -> Void
    private static let fewMessages = 8
    private static let patience = 32
    private let writer = DispatchQueue(label: "channels.nats.writer")
    let control = DispatchQueue(label: "channels.nats.control")
    let reconnecting = DispatchQueue(label: "channels.nats.reconnecting")
    /// Held while the C client flushes. In version 3.4.1, two threads that flush at once may wait for the
    /// answers to their pings in the same place. The first one to leave clears it, so the other one returns
    /// before its answer has arrived, or waits until its timeout.
    private let flushing = DispatchSemaphore(value: 1)

    private init(_ configuration: NATSConfiguration, onEvent: @escaping @Sendable (Event) -> Void) {
        // The lock spins, because publishers and the writer take it for each message.
        state = Locked(State(outbox: Outbox(limit: configuration.outgoingByteLimit)), spins: true)
        self.configuration = configuration
        self.onEvent = onEvent
    }

    /// Connects to the first server that answers.
    ///
    /// - Parameter onEvent: Called on a thread of the C client or on a queue of the connection. Calls may
    ///   overlap. It must not wait.
    static func connect(
        _ configuration: NATSConfiguration,
        onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> NATSConnection {
        let connection = NATSConnection(configuration, onEvent: onEvent)
        do {
            try await connection.onControl { try connection.connectNow() }
        } catch {
            // If the task was cancelled, the connection may still be established.
            connection.control.async { connection.beginClosing() }
            throw error
        }
        return connection
    }

    private func connectNow() throws {
        let library = try makeFirstConnection()
        state.withLock { $0.adopt(library) }
        guard library.isClosed else { return }
        throw BridgeError(.notConnected, "the connection was lost at once")
    }

    /// The C client before version 3.8 leaves out a signature that begins with a zero byte, which is one in
    /// 256, and the server refuses the connection. Therefore only the third refusal of a key in a row is
    /// taken seriously. When reconnecting, a refusal is an outage that is retried in any case.
    private func makeFirstConnection() throws -> LibraryConnection {
        var attempts = configuration.authentication.isSigned ? 3 : 1
        while true {
            attempts -= 1
            do { return try makeLibraryConnection() } catch let error as BridgeError
                where error.code == .authenticationFailed && attempts > 0
            {}
        }
    }

    /// Runs calls into the C client that may block, one at a time and outside the cooperative pool.
    ///
    /// It returns early if the task is cancelled. The call continues, and its result is discarded.
    func onControl<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let first = FirstResult<Value>()
        control.async { first.finish(Result(catching: body)) }
        return try await first.valueUnlessCancelled()
    }

    /// Enqueues a call into the C client that may block, after a delay, and does not wait for it.
    func onControl(after delay: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
        control.asyncAfter(deadline: .now() + delay, execute: body)
    }

    var isConnected: Bool { epoch != nil }

    /// A number that differs for each connection of the C client; nil if there is none.
    var epoch: Int? { state.withLock { $0.outbox.phase == .connected && !$0.isClosing ? $0.outbox.epoch : nil } }

    /// The size of the largest message that the server accepts, including headers.
    var maxPayload: Int { state.withLock { $0.maxPayload } }

    // MARK: Sending

    /// Hands a message to the writer.
    ///
    /// If the outbox is full while there is a connection, it waits for space. Messages of one task are sent
    /// in the order of its calls.
    func send(_ message: NATSMessage) async throws {
        while try !sendIfSpace(message) { try await waitForSpace() }
    }

    /// Hands a message to the writer if there is space.
    ///
    /// - Returns: Whether the message was taken; if not, the caller waits for space.
    func sendIfSpace(_ message: some OutgoingMessage) throws -> Bool {
        try message.checkBesidesSubject()
        let submission = try state.withLock { state in
            try state.check(message)
            return state.takesMessages ? state.outbox.submit(message) : .closed
        }
        switch submission {
        case .taken: return true
        case .takenAndStartWriter: startWriter()
        case .waitForSpace: return false
        case .full:
            let detail = "there is no connection, and the buffer of \(configuration.outgoingByteLimit) bytes is full"
            throw BridgeError(.bufferFull, subject: message.subject, detail)
        case .notConnected: throw BridgeError(.notConnected, subject: message.subject)
        case .closed: throw BridgeError(.closed, subject: message.subject, "the connection was closed")
        }
        return true
    }

    /// Hands a short message to the writer, such as an acknowledgement or a reply, even if the outbox is
    /// full. If the connection was closed, the message is lost, and whoever waits for it times out.
    ///
    /// - Returns: The error if the message cannot be sent. It has already been reported.
    @discardableResult
    func sendSoon(_ message: NATSMessage) -> BridgeError? {
        do throws(BridgeError) {
            try message.checkBesidesSubject()
            let submission = try state.withLock { state throws(BridgeError) in
                try state.check(message)
                return state.isClosed ? .closed : state.outbox.submit(message, isOverLimit: true)
            }
            if submission == .takenAndStartWriter { startWriter() }
            return nil
        } catch {
            onEvent(.failed(error))
            return error
        }
    }

    /// Hands a short message to the writer that would be obsolete on the next connection. Without a
    /// connection, it is dropped, so that closing does not wait for it.
    func sendNow(_ message: NATSMessage) {
        var message = message
        message.isBoundToConnection = true
        sendSoon(message)
    }

    private func waitForSpace() async throws {
        try Task.checkCancellation()
        let space = FirstResult<Void>()
        let isNeeded = state.withLock { state in
            // There may be space again by now.
            guard state.outbox.phase == .connected, !state.outbox.isIdle else { return false }
            state.spaceWaiters.append(space)
            return true
        }
        guard isNeeded else { return }
        do { try await space.valueUnlessCancelled() } catch {
            // Removed here, because it may be long before the writer takes the waiting callers.
            state.withLock { $0.spaceWaiters.removeAll { $0 === space } }
            throw error
        }
    }

    func startWriter() {
        writer.async { self.write() }
    }

    /// Called on the writer's queue.
    private func write() {
        var sinceFlush = 0
        var batch = PackedMessages()
        var spent = SpentMessages()
        defer { spent.destroyAll() }
        while true {
            pause(after: &sinceFlush)
            let (hasBatch, epoch, library, waiters) = state.withLock { state in
                let hasBatch = state.outbox.nextBatch(&batch)
                return (hasBatch, state.outbox.epoch, state.library, state.takeWaiters())
            }
            for waiter in waiters { waiter.finish(.success(())) }
            guard hasBatch, let library else { return }
            sinceFlush += batch.count
            let isSent = batch.send(library.pointer, &spent) { status, subject in
                onEvent(.unsent(1, BridgeError(status, doing: "sending", subject: subject)))
            }
            if !isSent {
                sinceFlush -= batch.count
                let (goesOn, lost) = state.withLock { $0.outbox.putBack(&batch, since: epoch) }
                if lost > 0 { onEvent(.unsent(lost, .unsentAtClose(lost))) }
                // If there already is another connection, the interruption has been reported.
                if !goesOn {
                    onEvent(.interrupted)
                    return resumeWaiters()
                }
            }
        }
    }

    /// Flushes the C client if nothing is waiting, and gives publishers a moment before the writer ends.
    private func pause(after sinceFlush: inout Int) {
        let (isEmpty, library) = state.withLock { ($0.outbox.isEmpty, $0.library) }
        guard isEmpty, sinceFlush > 0 else { return }
        // The C client collects messages for a millisecond before it writes, unless a ping forces it to.
        // After many messages, its buffer has been written several times, and the rest may wait that long.
        // After a few, they should not. The answer to the ping is not needed, but the call has no variant
        // that does not wait. While the control queue flushes, this is left out.
        if sinceFlush <= Self.fewMessages, let library, flushing.wait(timeout: .now()) == .success {
            _ = natsConnection_FlushTimeout(library.pointer, 1)
            flushing.signal()
        }
        sinceFlush = 0
        // Restarting the writer would mean waking a thread.
        for _ in 0..<Self.patience where state.withLock({ $0.outbox.isEmpty }) { sched_yield() }
    }

    /// Sends the C client's buffered messages, and waits until the server has answered a ping. Called on the
    /// control queue.
    func flush(_ library: LibraryConnection, timeout milliseconds: Int64) -> natsStatus {
        // The writer holds this for a millisecond at most.
        flushing.wait()
        defer { flushing.signal() }
        return natsConnection_FlushTimeout(library.pointer, milliseconds)
    }

    /// Ends a subscription once the server has answered, and waits until its handler has been called for
    /// every message received before. Called on the control queue.
    func drain(_ subscription: OpaquePointer, timeout milliseconds: Int64) {
        guard milliseconds > 0 else {
            _ = natsSubscription_Unsubscribe(subscription)
            return
        }
        // Draining makes the C client flush.
        flushing.wait()
        defer { flushing.signal() }
        guard natsSubscription_DrainTimeout(subscription, milliseconds) == NATS_OK else { return }
        natsSubscription_WaitForDrainCompletion(subscription, milliseconds)
    }

    func resumeWaiters() {
        for waiter in state.withLock({ $0.takeWaiters() }) { waiter.finish(.success(())) }
    }
}

extension NATSConnection.State {
    /// Throws unless the server accepts a message with this subject and size.
    mutating func check(_ message: borrowing some OutgoingMessage) throws(BridgeError) {
        // Consecutive messages usually have the same subject.
        if !message.subject.hasSameBytes(as: validSubject) {
            // The subject of this request ends with the pattern that the consumer receives.
            let isPattern = message.subject.utf8.starts(with: "$JS.API.CONSUMER.CREATE.".utf8)
            try isPattern ? WireRules.check(pattern: message.subject) : WireRules.check(subject: message.subject)
            validSubject = message.subject
        }
        let size = message.sizeForServer
        guard size > maxPayload else { return }
        let detail = "the message has \(size) bytes, the server accepts \(maxPayload)"
        throw BridgeError(.payloadTooLarge, subject: message.subject, detail)
    }

    /// Removes and returns the callers that wait for space and, if nothing is left to write or ever will be
    /// written, those that wait for that.
    mutating func takeWaiters() -> [FirstResult<Void>] {
        if spaceWaiters.isEmpty && idleWaiters.isEmpty { return [] }
        let isIdle = outbox.isIdle || outbox.phase == .closed
        defer { (spaceWaiters, idleWaiters) = ([], isIdle ? [] : idleWaiters) }
        return isIdle ? spaceWaiters + idleWaiters : spaceWaiters
    }

    /// Whether no callback will be called any more.
    var hasEnded: Bool { isClosed && liveSubscriptions == 0 }
}
#endif
