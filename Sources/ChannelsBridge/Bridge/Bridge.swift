public import Channels
internal import Synchronization

/// Carries channels of a switchboard over a broker to other processes: listeners and posters there do not
/// change a line.
///
/// ```swift
/// let broker = InMemoryBroker()
/// let bridge = Bridge("till", switchboard: board, transport: InMemoryTransport(broker), routes: [.outgoing(.sold, durable: true)])
/// try await bridge.run()
/// ```
///
/// ## Behavior
///
/// - What came in from another process has `Posted.origin` `.remote`, and is never sent out again, by this
///   bridge or another of the same switchboard. Messages of this bridge that come back are dropped.
/// - Messages are posted in other processes in the order in which one poster posted them, for each route. Of
///   different routes nothing is promised.
/// - Messages that are not durable are delivered at most once: accepted does not mean delivered. Durable ones
///   at least once: what is delivered twice is dropped by its identifier, within
///   ``BridgeConfiguration/duplicateWindow``; a message whose listener threw is delivered again.
/// - Nothing is lost in silence: what could not be sent, understood or kept is in ``statistics``, raises a
///   `Fault` of the switchboard, and, where it came in, goes to the dead letters.
/// - No lock of the library is held while listeners, responders or handlers run.
/// - A switchboard has one bridge for each broker: two over the same one send every message twice, and each
///   takes the other's for remote ones. Bridges over different brokers do not hear each other.
///
/// All methods may be called from any thread.
public final class Bridge: Sendable {
    /// What a bridge is doing.
    public enum Status: Hashable, Sendable {
        /// It has not run yet, or is connecting. What is posted waits.
        case waiting
        /// It is connected and subscribed.
        case running
        /// The connection is lost; the transport tries to restore it.
        case disconnected
        /// It has ended. What is posted is not sent.
        case ended
    }

    /// What it is doing now, for whoever wants to wait for it or show it: `await bridge.status.next { $0 ==
    /// .running || $0 == .ended }`. It ends without having run where `run()` throws.
    public let status: StateChannel<Status>

    /// What happens to the connection. Listeners without an isolation of their own run on the transport's
    /// thread and return soon.
    public var events: Channel<TransportEvent> { context.events }

    private let context: BridgeContext
    let workers: [any RouteWorker]
    private let hasRun = Atomic<Bool>(false)

    /// Creates a bridge. What is posted on its outgoing routes from now on waits until it runs.
    ///
    /// - Parameters:
    ///   - name: What this process, or its part in the whole, is called: `kitchen`. Processes of one name
    ///     share durable messages.
    ///   - switchboard: Where the channels are.
    ///   - transport: The connection, which belongs to the bridge from here on.
    ///   - routes: What it carries.
    ///   - configuration: How it encodes, buffers, repeats and gives up.
    ///   - onDeadLetter: Called for every message that came in and cannot be delivered.
    /// - Precondition: The name is not empty, every limit is positive, and names are in use in the
    ///   switchboard as the routes have them.
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

    /// What it has carried so far, and what it has not.
    ///
    /// Each number is exact for its own moment.
    public var statistics: BridgeStatistics {
        var statistics = context.statistics
        for worker in workers { worker.add(to: &statistics) }
        return statistics
    }

    /// Connects, carries messages until the task is cancelled, and then ends the connection.
    ///
    /// It fits a service of ServiceLifecycle as it is: `try await cancelWhenGracefulShutdown { try await
    /// bridge.run() }`. At the end it takes in nothing more, sends what waits, lets listeners finish with
    /// what came in, and closes the transport, within ``BridgeConfiguration/closeDeadline``. A bridge runs
    /// once.
    ///
    /// - Throws: What the transport throws when it connects or subscribes, in which case nothing was sent;
    ///   ``BridgeError/Code/unsupported`` where the transport cannot do what a route needs; the reason where
    ///   the connection ends and will not come back; ``BridgeError/Code/deadlineExceeded`` where something
    ///   was left undone at the end: ``statistics`` has the numbers. Cancellation is not an error.
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
            // Who waits to send finds the transport closed.
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
        // Not over the news of a connection lost meanwhile.
        status.update { if $0 == .waiting { $0 = .running } }
    }

    /// Called by the transport.
    private func take(_ event: TransportEvent) {
        switch event {
        case .connected, .slowConsumer: break
        case .disconnected: status.update { if $0 != .ended { $0 = .disconnected } }
        case .reconnected:
            status.update { if $0 == .disconnected { $0 = context.isReady.isOpen ? .running : .waiting } }
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
        // Where the connection has gone, there is nothing to wait for.
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
