public import Channels

/// Forwards durable messages from one transport to another, in order and at least once: for example, from a
/// file to a broker.
///
/// ```swift
/// let relay = Relay(from: file, to: broker, matching: "shop.>")  // a SQLiteTransport and a NATSTransport
/// try await relay.run()
/// ```
///
/// It waits for both transports, and retries until the target acknowledges a message. If the process is killed, the
/// next one continues with the unacknowledged messages. Each message keeps its identifier, which lets a broker drop
/// repeats. Up to 256 messages are in flight at once, so if the target loses or refuses one of them, as a cluster may
/// while it elects a leader, or a stream that is full, that message arrives out of order.
///
/// A message that the target can never take, because it is too large or not valid, is reported and kept as a
/// dead letter at the source. Where the source cannot keep it, that is reported, and tried again after 30 seconds. If
/// ``DeadLetterBox`` puts it back there, it is forwarded again. Dead letters
/// themselves stay at the source, whichever relay or bridge has stored them, and so does a message that was put
/// back for another durable name: they are acknowledged and not forwarded.
///
/// Anything else that waiting may resolve is an outage: a lost connection, a missing or full stream, a missing
/// permission. The relay reports it and waits for it to end. Meanwhile it forwards messages on other subjects,
/// until 256 messages are waiting. When the target has reconnected, it tries again at once.
///
/// ``storeStatus()`` reports its lag: the messages still to be forwarded, and the age of the oldest.
public struct Relay: Sendable {
    /// What the relay is doing: `running` while both transports are connected, with the reason if the last
    /// attempt to forward failed.
    public let status = StateChannel(BridgeStatus(.created))
    /// The durable name under which it reads.
    public let name: String

    private let account = Account()
    private let source: any Transport
    private let target: any Transport
    private let pattern: ChannelPattern
    private let deadLetters: String
    /// How long it waits between attempts, each of which sends at most one message of a subject that is refused.
    /// Constant, except for tests, as is the clock.
    package var backoff = Backoff(limit: .seconds(1))
    package var clock: any Clock<Duration> = ContinuousClock()
    private let onFailure: @Sendable (BridgeError) -> Void

    /// Creates a relay.
    ///
    /// - Parameters:
    ///   - source: A transport with durable messages, which the relay connects and closes.
    ///   - target: A transport with durable messages, which the relay connects and closes.
    ///   - pattern: The subjects to forward.
    ///   - name: The durable name under which it reads. Relays with the same name share the messages; order
    ///     then holds only within each relay.
    ///   - deadLetters: The name under which the source keeps messages that the target refuses: with `dead`,
    ///     messages on `shop.sold` are kept on `dead.shop.sold`.
    ///   - onFailure: Called for each failed attempt (once for messages that fail together), and for failures that the
    ///     transports report.
    /// - Precondition: `deadLetters` is a channel name.
    public init(
        from source: any Transport,
        to target: any Transport,
        matching pattern: ChannelPattern = ">",
        name: String = "relay",
        deadLetters: String = "dead",
        onFailure: @escaping @Sendable (BridgeError) -> Void = { _ in }
    ) {
        let isName = (try? ChannelName<Never>(validating: deadLetters)) != nil
        require(isName, "Relay.deadLetters is \(quoted(deadLetters)); write a channel name, such as \"dead\"")
        (self.source, self.target, self.pattern) = (source, target, pattern)
        (self.name, self.deadLetters) = (name, deadLetters)
        self.onFailure = onFailure
    }

    private enum Side { case source, target }

    /// What outlives a run.
    private final class Account: Sendable {
        let counters = Locked(BridgeStatistics())
        let isRunning = Locked(false)
    }

    /// What the transports tell a run.
    private final class Run: Sendable {
        struct State {
            /// The transports that this run has connected, and so has to close.
            var connected: [any Transport] = []
            /// The sides that have lost their connection.
            var lost: Set<Side> = []
            /// Since the bell was last heard: the messages that have arrived, and whether the target has reconnected.
            var arrived: [InboundMessage] = []
            var isTargetBack = false
            /// The last pause between two attempts that is over. They are numbered, because one may end after the
            /// outage that it belongs to.
            var endedPause = 0
        }

        let state = Locked(State())
        let bell = Bell()
        /// Fails once a connection has ended for good.
        let ended = FirstResult<Void>()
    }

    /// The counters of the relay: messages `sent`, attempts `retried` and `failed`, messages `refused` as
    /// dead letters. The others stay zero.
    public var statistics: BridgeStatistics { account.counters.withLock { $0 } }

    /// Reports what the source has stored, with the relay's dead letters; the lag is that of the durable name
    /// ``name``.
    ///
    /// - Throws: ``BridgeError/Code/notConnected`` or ``BridgeError/Code/closed`` if the relay is not running; the
    ///   errors of the source.
    public func storeStatus() async throws -> [StoreStatus] { try await source.storeStatus(deadLetters: deadLetters) }

    /// Forwards messages until the task is cancelled.
    ///
    /// After it has thrown, it may be called again.
    ///
    /// - Throws: ``BridgeError/Code/unsupported`` if a transport has no durable messages;
    ///   ``BridgeError/Code/alreadyRunning`` if the relay is running, or somebody else uses one of its transports,
    ///   which stays connected; errors that repeating cannot resolve
    ///   (``BridgeError/Code/Disposition/end``), such as ``BridgeError/Code/authenticationFailed``; the reason if
    ///   a connection ends for good; `CancellationError`.
    public func run() async throws {
        guard source.capabilities.contains(.durable), target.capabilities.contains(.durable) else {
            throw BridgeError(
                .unsupported,
                detail:
                    "a relay needs two transports with durable messages, not \(type(of: source)) and \(type(of: target))"
            )
        }
        let wasRunning = account.isRunning.withLock { isRunning in
            defer { isRunning = true }
            return isRunning
        }
        guard !wasRunning else {
            throw BridgeError(.alreadyRunning, detail: "the relay \(quoted(name)) is running: stop it first")
        }
        defer { account.isRunning.withLock { $0 = false } }
        status.set(BridgeStatus(.connecting))
        let run = Run()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await forward(run) }
                group.addTask { try await run.ended.valueUnlessCancelled() }
                // Neither returns: the first error ends the other, too.
                try await group.next()
            }
        } catch {
            for transport in run.state.withLock({ $0.connected }) { try? await transport.close(timeout: .seconds(5)) }
            status.set(BridgeStatus(.ended, reason: error as? BridgeError))
            throw error
        }
    }

    private func forward(_ run: Run) async throws {
        for (side, transport) in [(Side.source, source), (.target, target)] {
            try await retry {
                try await transport.connect { report($0, of: side, to: run) }
            }
            run.state.withLock { $0.connected.append(transport) }
        }
        let subscription = TransportSubscription(to: pattern, durableName: name, start: .beginning)
        try await retry {
            try await source.subscribe(subscription) { message in
                guard !message.message.isDeadLetter, message.message.isMeant(for: name) else {
                    message.settle?(.acknowledged)
                    return
                }
                run.state.withLock { $0.arrived.append(message) }
                run.bell.ring()
            }
        }
        // One connection may have been lost while the other was being made.
        status.update { status in
            guard status.phase == .connecting else { return }
            status = BridgeStatus(run.state.withLock { $0.lost.isEmpty } ? .running : .reconnecting)
        }
        var (outage, pauses) = (Outage(), 0)
        while true {
            await run.bell.wait()
            try Task.checkCancellation()
            let news = run.state.withLock { state in
                defer { (state.arrived, state.isTargetBack) = ([], false) }
                return state
            }
            if news.isTargetBack { outage = Outage(left: outage.left) }
            if news.endedPause == pauses { outage.isPausing = false }
            outage.left += news.arrived
            guard let blocked = outage.blocked else { continue }
            let failures = try await handOn(&outage.left, blocked)
            if outage.left.isEmpty { outage = Outage() }
            guard let first = failures.first else {
                if outage.left.isEmpty { succeed() }
                continue
            }
            fail(first)
            if let end = failures.first(where: { $0.code.disposition == .end }) { throw end }
            guard let delay = outage.begin(failures, backoff) else { continue }
            pauses += 1
            Task { [clock, pauses] in
                try await clock.sleep(atMost: delay)
                run.state.withLock { $0.endedPause = max($0.endedPause, pauses) }
                run.bell.ring()
            }
        }
    }

    /// The messages that could not be forwarded, and when to try them again.
    private struct Outage {
        /// In order, including later messages on the same subjects.
        var left: [InboundMessage] = []
        private var failed: Set<ExactText> = []
        private var isForAll = false
        private var repetition = 0
        /// Whether an attempt has failed, and the next one is not due.
        var isPausing = false

        init(left: [InboundMessage] = []) { self.left = left }

        /// The subjects whose messages must not be tried now; nil if no subject may be tried.
        var blocked: Set<ExactText>? { isPausing ? (isForAll ? nil : failed) : [] }

        /// Records failures. Returns the delay before the next attempt; nil if one is already scheduled.
        mutating func begin(_ failures: [BridgeError], _ backoff: Backoff) -> Duration? {
            failed = Set(left.map { ExactText($0.message.subject) })
            isForAll = !failures.allSatisfy(\.concernsItsSubject)
            if isPausing { return nil }
            isPausing = true
            repetition += 1
            return backoff.delay(before: repetition)
        }
    }

    /// Publishes messages, except on blocked subjects, and settles those that are acknowledged or refused.
    /// The others stay, in order.
    ///
    /// - Returns: Why they could not be published.
    private func handOn(_ messages: inout [InboundMessage], _ blocked: Set<ExactText>) async throws -> [BridgeError] {
        let (ends, ended) = AsyncStream.makeStream(of: (Int, BridgeError?).self)
        var (begun, isOpen, blocked, left) = (0, true, blocked, [Int]())
        for (index, message) in messages.enumerated() {
            let subject = ExactText(message.message.subject)
            // It would overtake an earlier message on its subject that has failed.
            guard isOpen, !blocked.contains(subject) else {
                left.append(index)
                continue
            }
            begun += 1
            let onEnd: @Sendable (BridgeError?) -> Void = { error in
                if error == nil {
                    message.settle?(.acknowledged)
                    account.counters.withLock { $0.sent += 1 }
                }
                ended.yield((index, error))
            }
            do {
                if let problem = message.problem { throw problem }
                // An earlier attempt, or an earlier process, may have published it.
                try await target.publishDurably(outgoing(message.message), isRepeated: true, onResult: onEnd)
            } catch {
                let error = BridgeError.from(error, subject: message.message.subject)
                onEnd(error)
                guard !isForGood(error, message) else { continue }
                blocked.insert(subject)
                isOpen = error.concernsItsSubject
            }
        }
        var errors: [Int: BridgeError] = [:]
        for await (index, error) in ends.prefix(begun) { errors[index] = error }
        try Task.checkCancellation()
        let refused = errors.filter { isForGood($1, messages[$0]) }.sorted { $0.key < $1.key }
        for (index, error) in refused { try await setAside(messages[index], error) }
        let failed = errors.filter { !isForGood($1, messages[$0]) }.sorted { $0.key < $1.key }
        account.counters.withLock { $0.retried += failed.count }
        messages = (failed.map(\.key) + left).sorted().map { messages[$0] }
        return failed.map(\.value)
    }

    /// Whether a message can never be published.
    private func isForGood(_ error: BridgeError, _ message: InboundMessage) -> Bool {
        message.problem != nil || error.code.disposition == .leaveOut
    }

    /// A message that was put back for this relay is meant for all durable names at the target.
    private func outgoing(_ message: TransportMessage) -> TransportMessage {
        var message = message
        message.headers.remove(DeadLetterHeader.name)
        return message
    }

    private func setAside(_ message: InboundMessage, _ error: BridgeError) async throws {
        onFailure(error)
        let subject = "\(deadLetters).\(message.message.subject)"
        let letter = DeadLetter(message: message.message, error: error, deliveryCount: message.deliveryCount)
        do {
            try await (source as? any MessageStore)?.prepare(forLetterOn: subject, under: deadLetters)
            try await source.keep(letter, of: message, on: subject, for: name)
            account.counters.withLock { $0.refused += 1 }
            message.settle?(.terminated)
        } catch {
            try Task.checkCancellation()
            // It is not lost: it is delivered again, and then this error is reported again. Others go on meanwhile.
            onFailure(BridgeError.from(error, subject: subject))
            message.settle?(.retry(after: .seconds(30)))
        }
    }

    private func report(_ event: TransportEvent, of side: Side, to run: Run) {
        switch event {
        case .failed(let error): onFailure(error)
        case .disconnected(let reason):
            run.state.withLock { _ = $0.lost.insert(side) }
            status.update { if $0.phase == .running { $0 = BridgeStatus(.reconnecting, reason: reason) } }
        case .reconnected:
            let isLost = run.state.withLock { state in
                state.lost.remove(side)
                if side == .target { state.isTargetBack = true }
                return !state.lost.isEmpty
            }
            run.bell.ring()
            if !isLost { status.update { if $0.phase == .reconnecting { $0 = BridgeStatus(.running) } } }
        case .closed(let reason):
            run.ended.finish(.failure(reason ?? BridgeError(.closed, detail: "the connection has ended")))
        case .connected, .lastValuesLost, .slowConsumer: break
        }
    }

    /// Counts and reports an attempt that will be repeated.
    private func fail(_ error: BridgeError) {
        account.counters.withLock { $0.failed += 1 }
        status.update { $0 = BridgeStatus($0.phase, reason: error) }
        onFailure(error)
    }

    private func succeed() {
        // Checked first, because listeners receive every update, even one that changes nothing.
        guard status.value.phase == .running, status.value.reason != nil else { return }
        status.update { if $0.phase == .running { $0 = BridgeStatus(.running) } }
    }

    /// - Throws: A `BridgeError` that waiting does not resolve; `CancellationError`.
    private func retry(_ attempt: () async throws -> Void) async throws {
        for repetition in 1... {
            do { return try await attempt() } catch {
                try Task.checkCancellation()
                let error = BridgeError.from(error, subject: name)
                guard [.wait, .reconfigure].contains(error.code.disposition) else { throw error }
                fail(error)
                try await clock.sleep(atMost: backoff.delay(before: repetition))
            }
        }
    }
}
