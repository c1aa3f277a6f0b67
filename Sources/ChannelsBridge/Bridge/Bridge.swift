public import Channels
internal import Synchronization

/// Carries channels of a switchboard over a message broker to other processes.
///
/// The code that posts and listens does not change.
///
/// ```swift
/// let broker = InMemoryBroker()
/// let bridge = Bridge(
///     "till",
///     switchboard: board,
///     transport: InMemoryTransport(broker),
///     routes: [.outgoing(.sold, durable: true)]
/// )
/// try await bridge.run()
/// ```
///
/// ## Behavior
///
/// - A message from another process has `.remote` as its `Posted.origin`. No bridge of the same switchboard
///   sends it out again. A bridge drops the messages that it has sent itself, in any of its runs.
/// - On each route, messages of one poster arrive in order. Order between routes is not guaranteed.
/// - Messages that are not durable are delivered at most once: accepted does not mean delivered. Durable messages are
///   delivered at least once: a message whose listener threw is delivered again. Duplicates are recognized by their
///   identifier, among as many recent messages as a route may hold.
/// - Every loss is counted and reported: a message that could not be sent, decoded or buffered is counted in
///   ``statistics`` and raises a `Fault` of the switchboard; an incoming message that cannot be delivered is
///   also a ``DeadLetter``.
/// - No lock of the library is held while listeners, responders or handlers run.
/// - The bridge listens and responds on the switchboard like others: after its `removeAllListeners()`,
///   nothing is sent until the bridge runs again. After `removeState(_:)`, a route for that name does not
///   carry a state created later under the same name; a route for a pattern does.
/// - Use one bridge per switchboard and broker. Two bridges over the same broker send every message twice,
///   and each treats the other's messages as remote. Bridges over different brokers do not exchange messages.
///
/// All methods may be called from any thread.
public final class Bridge: Sendable {
    /// The current status of the bridge. Read its `value`, or listen to it; ``waitUntilReady()`` waits for
    /// `.running`.
    public let status = StateChannel(BridgeStatus(.created))

    /// Events of the connection. Nonisolated listeners run on the transport's thread and must not block it.
    public var events: Channel<TransportEvent> { record.events }

    private struct Life {
        var isRunning = false
        var hasRun = false
        /// The context of the last run, or of the next one if there was none.
        var context: BridgeContext
        var workers: [any RouteWorker]
    }

    private let parts: [BridgeRoute.Part]
    let record: BridgeRecord
    private let life: Locked<Life>

    var switchboard: Switchboard { record.switchboard }
    var workers: [any RouteWorker] { life.withLock { $0.workers } }

    /// Creates a bridge.
    ///
    /// From now on, messages posted on its outgoing routes are queued until it runs, and `postAndWait` waits for
    /// that: give it a `timeout:` if the bridge may never run.
    ///
    /// - Parameters:
    ///   - name: The role of this process: `kitchen`. Processes whose bridges have the same name share
    ///     durable messages, as a queue group.
    ///   - switchboard: The switchboard whose channels are carried.
    ///   - transport: The connection. It belongs to the bridge from now on.
    ///   - routes: The names to carry.
    ///   - configuration: The codec, limits, timeouts and delays.
    ///   - onDeadLetter: Called for every incoming message that cannot be delivered.
    /// - Precondition: The name is not empty, every limit is positive, and no route's name is in use in the switchboard
    ///   with another type.
    public init(
        _ name: String,
        switchboard: Switchboard = .shared,
        transport: any Transport,
        routes: [BridgeRoute],
        configuration: BridgeConfiguration = BridgeConfiguration(),
        onDeadLetter: DeadLetterHandler? = nil
    ) {
        require(!name.isEmpty, "Bridge(\"\"): the name is empty; write the role of the process, such as \"kitchen\"")
        configuration.check()
        record = BridgeRecord(
            name: name,
            switchboard: switchboard,
            transport: transport,
            configuration: configuration,
            onDeadLetter: onDeadLetter,
            source: "channels/\(name)/\(randomIdentifier())"
        )
        let parts = routes.flatMap { $0.parts }
        self.parts = parts.filter(\.isDurable) + parts.filter { !$0.isDurable }
        let context = BridgeContext(record, self.parts)
        life = Locked(Life(context: context, workers: Self.makeWorkers(self.parts, context)))
    }

    private static func makeWorkers(_ parts: [BridgeRoute.Part], _ context: BridgeContext) -> [any RouteWorker] {
        // Parts of different names have no messages in common, and there may be thousands of names.
        let places = Dictionary(grouping: parts.indices) { parts[$0].pattern?.onlyName.map { ExactText($0) } }
        return parts.indices.compactMap { index in
            var part = parts[index]
            let name = part.pattern?.onlyName.map { ExactText($0) }
            let all = name == nil ? Array(parts.indices) : (places[name]! + places[nil, default: []]).sorted()
            let rivals = all.filter { parts[$0].kind == part.kind }
            if part.kind == .state { part.options.later = rivals.filter { $0 > index }.map { parts[$0] } }
            let earlier = rivals.prefix { $0 < index }.map { parts[$0] }
                .filter { $0.takesPrecedence(over: part, in: context.name) }
            // It would take messages that the earlier one is to deliver: the broker shares them between both.
            let isDouble = part.kind == .incoming && part.isDurable && earlier.contains { $0.pattern == part.pattern }
            return isDouble ? nil : part.makeWorker(context, earlier, part.options)
        }
    }

    /// The counters of the bridge.
    ///
    /// Each counter is exact, but they are not all read at the same instant.
    public var statistics: BridgeStatistics {
        let (context, workers) = life.withLock { ($0.context, $0.workers) }
        var statistics = context.statistics
        for worker in workers { worker.add(to: &statistics) }
        return statistics
    }

    /// Connects, carries messages until the task is cancelled, and then closes the connection.
    ///
    /// While the broker cannot be reached, the bridge keeps trying, with the delays of
    /// ``BridgeConfiguration/backoff``, each at most two seconds. While a route cannot be subscribed, for
    /// example because the broker does not store its durable messages, the bridge tries again on the same
    /// connection, at least every second. ``status`` says why, and each new reason raises a fault. Meanwhile,
    /// posted messages are queued. Incoming routes begin to deliver when the states have the broker's values,
    /// so their listeners find them.
    ///
    /// In a service of swift-service-lifecycle, use `BridgeService` of `ChannelsObservability`, or
    /// `try await cancelWhenGracefulShutdown { try await bridge.run() }`.
    ///
    /// When the run ends, the bridge stops receiving, and lets listeners and responders finish. Then it sends
    /// what is queued, including what these have posted, and closes the transport, if this run had connected
    /// it. All of this must happen within ``BridgeConfiguration/closeTimeout``. After that time, the bridge
    /// cancels unfinished work, and the method returns once that has ended: a responder or dead-letter
    /// handler that ignores cancellation, or a listener that blocks its thread, keeps the method from
    /// returning. Messages that are still queued are dropped and counted, and later posts are not sent. A run
    /// that is cancelled before it is ready ends in the same way, but does not wait if it has not connected.
    ///
    /// After it has returned or thrown, it may be called again. It then uses the same transport, and the
    /// counters continue.
    ///
    /// - Throws: Permanent errors at startup: rejected credentials or certificate, a subscription that is not
    ///   permitted. ``BridgeError/Code/unsupported`` if the transport lacks a capability that a route needs.
    ///   The reason if the connection ends for good. ``BridgeError/Code/closingTimedOut`` if work was left
    ///   undone at the end; ``statistics`` gives the numbers. ``BridgeError/Code/alreadyRunning`` if it is
    ///   already running. Cancellation is not an error.
    public func run() async throws {
        let (context, workers) = try begin()
        var (hasBegun, failure) = (false, BridgeError?.none)
        do {
            try await start(context, workers)
            hasBegun = true
            try? await context.isEnding.wait()
        } catch {
            if !(error is CancellationError || Task.isCancelled) {
                failure = BridgeError.from(error, subject: context.name)
            }
        }
        // In its own task, because this one may be cancelled.
        failure = await Task { [hasBegun, failure] in
            await self.end(context, workers, hasBegun: hasBegun, failure)
        }.value
        life.withLock { $0.isRunning = false }
        // If another run has begun since, the status belongs to that run.
        status.update { status in
            if !life.withLock({ $0.isRunning }) { status = BridgeStatus(.ended, reason: failure) }
        }
        if let failure { throw failure }
    }

    /// Suspends until the bridge carries messages: the readiness check of a service.
    ///
    /// It also waits for the first call of `run()`, and for the next one after a run that was cancelled. After a run
    /// that has failed, it throws the reason.
    ///
    /// - Throws: The reason if the bridge has ended; ``BridgeError/Code/closed`` if it was cancelled;
    ///   `CancellationError` if this task is cancelled.
    public func waitUntilReady() async throws {
        // After a run that was cancelled, the next one may not have begun yet.
        let former = status.value
        if former.phase == .ended, former.reason == nil { _ = await status.first { $0.phase != .ended } }
        let status = await status.first { $0.isReady || $0.phase == .ended }
        guard let status else { throw CancellationError() }
        if !status.isReady { throw status.reason ?? BridgeError(.closed, subject: record.name) }
    }

    // MARK: Running

    /// Returns the context and workers of the first run, or creates new ones for another run.
    private func begin() throws -> (BridgeContext, [any RouteWorker]) {
        let (isRunning, hasRun, context, workers) = life.withLock { life in
            defer { (life.isRunning, life.hasRun) = (true, true) }
            return (life.isRunning, life.hasRun, life.context, life.workers)
        }
        guard !isRunning else {
            throw BridgeError(.alreadyRunning, detail: "the bridge \(quoted(context.name)) is running: stop it first")
        }
        guard hasRun else { return (context, workers) }
        // None of the old workers is running any more, but their statistics carry over.
        var past = BridgeStatistics()
        for worker in workers { worker.add(to: &past) }
        let renewed = BridgeContext(record, parts)
        let renewedWorkers = Self.makeWorkers(parts, renewed)
        renewed.count(\.sent, past.sent)
        renewed.count(\.dropped, past.dropped)
        life.withLock { ($0.context, $0.workers) = (renewed, renewedWorkers) }
        return (renewed, renewedWorkers)
    }

    private func start(_ context: BridgeContext, _ workers: [any RouteWorker]) async throws {
        for worker in workers where !context.transport.capabilities.isSuperset(of: worker.needs) {
            let detail =
                "\(type(of: context.transport)) cannot carry \(worker.needs.subtracting(context.transport.capabilities).asWritten), which a route needs"
            throw BridgeError(.unsupported, detail: detail)
        }
        status.set(BridgeStatus(.connecting))
        try await retry(atMost: .seconds(2), context) {
            // Weak, because the transport may keep the closure, and the bridge keeps the transport.
            try await context.transport.connect { [weak self] event in self?.take(event) }
        }
        context.hasConnected.store(true, ordering: .relaxed)
        // On the same connection, because closing it would return the messages of other routes to the broker, which
        // counts their deliveries.
        for worker in workers { try await retry(atMost: .seconds(1), context) { try await worker.start() } }
        beginToSend(context, workers)
        // Once this returns, any value that is set is newer than the broker's. A listener may set one.
        for worker in workers { await worker.caughtUp() }
        try Task.checkCancellation()
        if let closing = context.closing.withLock({ $0 }) { throw closing }
        for worker in workers where worker.isInbound { worker.work() }
        status.update {
            // The connection may have been lost meanwhile.
            let isConnected = context.isConnected.load(ordering: .relaxed)
            $0 = isConnected ? BridgeStatus(.running) : BridgeStatus(.reconnecting, reason: $0.reason)
        }
    }

    private func beginToSend(_ context: BridgeContext, _ workers: [any RouteWorker]) {
        for worker in workers where !worker.isInbound { worker.work() }
        context.isReady.open()
    }

    /// Repeats an attempt to connect or to subscribe until it succeeds, as long as waiting may help.
    ///
    /// - Parameter longest: The longest delay between attempts.
    private func retry(
        atMost longest: Duration,
        _ context: BridgeContext,
        _ attempt: () async throws -> Void
    ) async throws {
        var reported: BridgeError.Code?
        for repetition in 1... {
            try Task.checkCancellation()
            do { return try await attempt() } catch {
                let error = BridgeError.from(error, subject: context.name)
                let closing = context.closing.withLock { $0 }
                guard !Task.isCancelled, closing == nil, error.code.disposition == .wait else { throw closing ?? error }
                status.update { $0 = BridgeStatus($0.phase, reason: error) }
                if reported != error.code { context.report(error) }
                reported = error.code
            }
            let delay = min(context.configuration.backoff.delay(before: repetition), longest)
            await context.isEnding.wait(atMost: delay, clock: context.configuration.clock)
            if let closing = context.closing.withLock({ $0 }) { throw closing }
        }
    }

    /// Called by the transport.
    private func take(_ event: TransportEvent) {
        let (context, workers) = life.withLock { ($0.context, $0.workers) }
        switch event {
        case .connected: break
        case .slowConsumer(let pattern, let dropped):
            context.count(\.overflowed, dropped)
            let detail = "\(dropped) messages arrived faster than they were handled, and were dropped"
            context.report(BridgeError(.bufferFull, subject: pattern, detail: detail))
        case .disconnected(let reason):
            context.isConnected.store(false, ordering: .relaxed)
            status.update {
                guard [.connecting, .running, .reconnecting].contains($0.phase) else { return }
                $0 = BridgeStatus($0.phase == .connecting ? .connecting : .reconnecting, reason: reason)
            }
        case .reconnected:
            context.isConnected.store(true, ordering: .relaxed)
            for worker in workers { worker.connectionIsBack() }
            status.update {
                guard [.connecting, .reconnecting].contains($0.phase) else { return }
                $0 = BridgeStatus($0.phase == .connecting ? .connecting : .running)
            }
        case .lastValuesLost(let subject):
            for worker in workers { worker.lastValuesLost(on: subject) }
            guard subject == nil else { break }
            let detail = "the broker has lost its states; those of this process are stored again"
            context.report(BridgeError(.lastValuesLost, detail: detail))
        case .failed(let error):
            // The transport received a message that it cannot read.
            if error.code == .invalidEnvelope { context.count(\.refused) }
            context.report(error)
            // Checked first, because listeners receive every update, even one that changes nothing.
            guard [.connecting, .reconnecting].contains(status.value.phase) else { break }
            status.update {
                if [.connecting, .reconnecting].contains($0.phase) { $0 = BridgeStatus($0.phase, reason: error) }
            }
        case .closed(let reason):
            context.closing.withLock { $0 = reason ?? BridgeError(.closed, detail: "the connection has ended") }
            context.isEnding.open()
        }
        context.events.post(event)
    }

    // MARK: Ending

    /// Ends a run, also one whose start has failed or was cancelled.
    ///
    /// - Parameters:
    ///   - hasBegun: Whether the start has succeeded.
    ///   - failure: Why the start has failed, unless it was cancelled.
    /// - Returns: The error of the end, if there is one.
    private func end(
        _ context: BridgeContext,
        _ workers: [any RouteWorker],
        hasBegun: Bool,
        _ failure: BridgeError?
    ) async -> BridgeError? {
        let began = ContinuousClock.now
        let closing = context.closing.withLock { $0 }
        let reason = closing ?? failure
        status.set(BridgeStatus(.ending, reason: reason))
        context.isEnding.open()
        // Another bridge may use a transport that this one has not connected.
        let hasConnected = context.hasConnected.load(ordering: .relaxed)
        if !hasBegun { for worker in workers where worker.isInbound { worker.abandon() } }
        if hasConnected, !context.isReady.isOpen { beginToSend(context, workers) }
        let isDone = Latch()
        let ending = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    if hasConnected {
                        await context.transport.drainSubscriptions(timeout: context.configuration.closeTimeout)
                    }
                    context.isDrained.open()
                }
                for worker in workers where worker.isInbound { group.addTask { await worker.finish() } }
            }
            // Only now, because listeners and responders post, set states and ask until they have finished.
            await withTaskGroup(of: Void.self) { group in
                for worker in workers where !worker.isInbound { group.addTask { await worker.finish() } }
            }
            isDone.open()
        }
        // Without a connection there is nothing to wait for.
        let limit = hasConnected && closing == nil ? context.configuration.closeTimeout : .zero
        var problem: (any Error)?
        if await !isDone.wait(atMost: limit, clock: context.configuration.clock) {
            // Only now, because messages are also accepted while it ends. Without a connection, states are not stored.
            let isUndone = hasConnected ? workers.contains { !$0.isIdle } : statistics.waitingToSend > 0
            for worker in workers { worker.abandon() }
            if isUndone {
                problem = BridgeError(.closingTimedOut, subject: context.name, detail: "unfinished: \(statistics)")
            }
        }
        if hasConnected {
            let rest = max(context.configuration.closeTimeout - began.duration(to: .now), .zero)
            do { try await context.transport.close(timeout: rest) } catch { problem = problem ?? error }
        }
        // Senders that wait for the connection then find that there is none.
        context.isReady.open()
        // Abandoned work ends soon, and closing the transport ended whatever was waiting for it.
        await ending.value
        return reason ?? problem.map { BridgeError.from($0, subject: context.name) }
    }
}
