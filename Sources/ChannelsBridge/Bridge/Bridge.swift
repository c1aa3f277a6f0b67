public import Channels
internal import Synchronization

/// Carries channels of a switchboard over a message broker to other processes. The code that posts and
/// listens does not change.
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
/// - A message from another process has the `Posted.origin` `.remote`. It is never sent out again, neither by
///   this bridge nor by another bridge of the same switchboard. A bridge drops its own messages when they
///   come back.
/// - On each route, messages of one poster arrive in order. Order between routes is not guaranteed.
/// - Messages that are not durable are delivered at most once: accepted does not mean delivered. Durable
///   messages are delivered at least once: a message whose listener threw is delivered again, and duplicates
///   are dropped by their identifier, within ``BridgeConfiguration/duplicateWindow``.
/// - Every loss is counted and reported: a message that could not be sent, decoded or buffered is counted in
///   ``statistics`` and raises a `Fault` of the switchboard; an incoming message that cannot be delivered is
///   also a ``DeadLetter``.
/// - No lock of the library is held while listeners, responders or handlers run.
/// - Use one bridge per switchboard and broker. Two bridges over the same broker send every message twice,
///   and each takes the other's messages for remote ones. Bridges over different brokers do not exchange
///   messages.
///
/// All methods may be called from any thread.
public final class Bridge: Sendable {
    /// What a bridge is doing.
    public enum Status: Hashable, Sendable {
        /// It has not run yet, or is connecting. Posted messages wait.
        case waiting
        /// It is connected and subscribed.
        case running
        /// The connection is lost; the transport is reconnecting.
        case disconnected
        /// It has ended. Posted messages are not sent.
        case ended
    }

    /// What the bridge is doing now. To wait until it is connected: `await bridge.status.next { $0 ==
    /// .running || $0 == .ended }`. If `run()` throws at the start, the status goes to `.ended` without ever
    /// having been `.running`.
    public let status: StateChannel<Status>

    /// Events of the connection. Listeners without an isolation run on the transport's thread and must not
    /// block it.
    public var events: Channel<TransportEvent> { context.events }

    private let context: BridgeContext
    let workers: [any RouteWorker]
    private let hasRun = Atomic<Bool>(false)

    /// Creates a bridge. From now on, messages posted on its outgoing routes wait until it runs.
    ///
    /// - Parameters:
    ///   - name: The role of this process: `kitchen`. Processes whose bridges have the same name share
    ///     durable messages, as a queue group.
    ///   - switchboard: The switchboard whose channels are carried.
    ///   - transport: The connection. It belongs to the bridge from now on.
    ///   - routes: The names to carry.
    ///   - configuration: The codec, limits, timeouts and delays.
    ///   - onDeadLetter: Called for every incoming message that cannot be delivered.
    /// - Precondition: The name is not empty, every limit is positive, and no name of a route is in use in
    ///   the switchboard with another type.
    public init(
        _ name: String,
        switchboard: Switchboard = .shared,
        transport: any Transport,
        routes: [BridgeRoute],
        configuration: BridgeConfiguration = BridgeConfiguration(),
        onDeadLetter: DeadLetterHandler? = nil
    ) {
        precondition(!name.isEmpty, "a bridge needs a name")
        configuration.check()
        let context = BridgeContext(
            name: name,
            switchboard: switchboard,
            transport: transport,
            configuration: configuration,
            onDeadLetter: onDeadLetter
        )
        self.context = context
        status = StateChannel(.waiting)
        let parts = routes.flatMap { $0.parts }
        var before: [BridgeRoute.Kind: [ChannelPattern]] = [:]
        workers = (parts.filter(\.isDurable) + parts.filter { !$0.isDurable }).map { part in
            defer { if let pattern = part.pattern { before[part.kind, default: []].append(pattern) } }
            return part.makeWorker(context, before[part.kind, default: []])
        }
    }

    /// The counters of the bridge.
    ///
    /// Each is exact, but they are not read at the same instant.
    public var statistics: BridgeStatistics {
        var statistics = context.statistics
        for worker in workers { worker.add(to: &statistics) }
        return statistics
    }

    /// Connects, carries messages until the task is cancelled, and then closes the connection.
    ///
    /// In a service of ServiceLifecycle: `try await cancelWhenGracefulShutdown { try await bridge.run() }`.
    /// When it ends, the bridge stops receiving, sends waiting messages, lets listeners finish with received
    /// ones, and closes the transport, within ``BridgeConfiguration/closeDeadline``. A bridge runs once.
    ///
    /// - Throws: The error of the transport if it cannot connect or subscribe; nothing was sent then.
    ///   ``BridgeError/Code/unsupported`` if the transport lacks a capability that a route needs. The reason
    ///   if the connection ends for good. ``BridgeError/Code/deadlineExceeded`` if work was left undone at
    ///   the end; ``statistics`` has the numbers. Cancellation is not an error.
    public func run() async throws {
        guard !hasRun.exchange(true, ordering: .sequentiallyConsistent) else {
            throw BridgeError(.closed, detail: "the bridge \(quoted(context.name)) has run; it runs once")
        }
        do {
            try await start()
        } catch {
            for worker in workers { worker.abandon() }
            // In a task of its own: this one may be cancelled.
            await Task { [context] in try? await context.transport.close(within: .zero) }.value
            // Senders that wait for the connection then find the transport closed.
            context.isReady.open()
            status.set(.ended)
            if error is CancellationError || Task.isCancelled { return }
            throw BridgeError.from(error, subject: context.name)
        }
        try? await context.isEnding.wait()
        try await Task { try await self.end() }.value
    }

    // MARK: Running

    private func start() async throws {
        for worker in workers where !context.transport.capabilities.isSuperset(of: worker.needs) {
            throw BridgeError(
                .unsupported,
                detail: "\(type(of: context.transport)) cannot do what a route of the bridge needs"
            )
        }
        try await context.transport.connect { [weak self] event in self?.take(event) }
        for worker in workers { try await worker.start() }
        for worker in workers { worker.work() }
        context.isReady.open()
        // The connection may have been lost meanwhile: that status stays.
        status.update { if $0 == .waiting { $0 = .running } }
    }

    /// Called by the transport.
    private func take(_ event: TransportEvent) {
        switch event {
        case .connected, .slowConsumer: break
        case .disconnected: status.update { if $0 != .ended { $0 = .disconnected } }
        case .reconnected:
            for worker in workers { worker.connectionIsBack() }
            status.update { if $0 == .disconnected { $0 = context.isReady.isOpen ? .running : .waiting } }
        case .lastValuesLost(let subject):
            for worker in workers { worker.lastValuesLost(on: subject) }
            guard subject == nil else { break }
            let detail = "the broker has lost its states; those of this process are stored again"
            context.report(BridgeError(.lastValuesLost, detail: detail))
        case .failed(let error):
            context.switchboard.reportBridgeFault(on: error.subject ?? "bridge \(context.name)", error: error)
        case .closed(let reason):
            context.closing.withLock { $0 = reason ?? BridgeError(.closed, detail: "the connection has ended") }
            context.isEnding.open()
        }
        context.events.post(event)
    }

    // MARK: Ending

    private func end() async throws {
        let began = ContinuousClock.now
        let reason = context.closing.withLock { $0 }
        let isDone = Latch()
        let ending = Task { [workers] in
            await withTaskGroup(of: Void.self) { group in
                for worker in workers { group.addTask { await worker.finish() } }
            }
            isDone.open()
        }
        // Without a connection there is nothing to wait for.
        let wasInTime =
            reason == nil
            ? await isDone.wait(atMost: context.configuration.closeDeadline, clock: ContinuousClock()) : false
        var failure: (any Error)?
        if !wasInTime {
            for worker in workers { worker.abandon() }
            failure = BridgeError(.deadlineExceeded, subject: context.name, detail: "not done: \(statistics)")
        }
        let rest = max(context.configuration.closeDeadline - began.duration(to: .now), .zero)
        do { try await context.transport.close(within: rest) } catch { failure = failure ?? error }
        if wasInTime { await ending.value }
        status.set(.ended)
        if let reason { throw reason }
        if let failure { throw BridgeError.from(failure, subject: context.name) }
    }
}
