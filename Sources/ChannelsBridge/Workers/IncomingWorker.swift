internal import Channels
internal import Synchronization

/// Delivers the messages of other processes on the subjects that match a pattern, one at a time.
final class IncomingWorker: RouteWorker {
    /// Decodes a message and returns what delivers it.
    typealias Decode = @Sendable (Arrival, BridgeContext) throws -> Deliver
    typealias Deliver = @Sendable (_ waits: Bool) async throws -> DeliveryReport

    private let pattern: ChannelPattern
    /// The patterns of routes that take precedence: they deliver what they match.
    private let earlier: [ChannelPattern]
    private let isDurable: Bool
    private let context: BridgeContext
    private let decode: Decode
    private let queue: InboundQueue<InboundMessage>
    private let task = Locked<Task<Void, Never>?>(nil)
    /// Whether a message is being delivered.
    private let isBusy = Atomic<Bool>(false)

    init(
        pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        isDurable: Bool,
        context: BridgeContext,
        decode: @escaping Decode
    ) {
        self.pattern = pattern
        self.earlier = earlier
        self.isDurable = isDurable
        self.context = context
        self.decode = decode
        // A transport that keeps its promise fetches no more durable messages than the limits say. It may
        // measure them a little differently, so the queue has room for more.
        let slack = isDurable ? 2 : 1
        queue = InboundQueue(
            limit: min(context.configuration.incomingLimit, .max / 2) * slack,
            byteLimit: min(context.configuration.incomingByteLimit, .max / 2) * slack
        )
    }

    var needs: TransportCapabilities { isDurable ? .durable : [] }

    func start() async throws {
        if isDurable { context.count(\.unfinished, queue.empty()) }
        let subscription = TransportSubscription(
            to: pattern,
            durableName: isDurable ? context.name : nil,
            unsettledLimit: context.configuration.incomingLimit,
            unsettledByteLimit: context.configuration.incomingByteLimit
        )
        try await context.transport.subscribe(subscription) { [weak self] message in self?.take(message) }
    }

    /// Called by the transport.
    private func take(_ inbound: InboundMessage) {
        switch queue.add(inbound, bytes: inbound.message.byteCount) {
        case .taken: break
        case .full:
            // A durable route fetches no more than fits; this is for transports that deliver more.
            guard let settle = inbound.settle else {
                let (limit, byteLimit) = (context.configuration.incomingLimit, context.configuration.incomingByteLimit)
                let detail = "\(limit) messages or \(byteLimit) bytes wait for their listeners"
                return context.lose(
                    BridgeError(.bufferFull, subject: inbound.message.subject, detail: detail),
                    \.overflowed
                )
            }
            context.count(\.retried)
            settle(.retry(after: context.configuration.backoff.delay(before: inbound.deliveryCount)))
        case .closed:
            // As if it had arrived after the end: a durable message is delivered again, to the next
            // subscriber.
            context.count(\.unfinished)
        }
    }

    func work() {
        let work = Task { [self] in
            var history = History(limit: context.configuration.duplicateWindow)
            while let message = await queue.next() {
                // Posted by this task, not on the transport's thread, which must not wait for the listeners.
                let dropped = queue.takeDroppedCount()
                if dropped > 0 { context.events.post(.slowConsumer(pattern: pattern.text, dropped: dropped)) }
                isBusy.store(true, ordering: .relaxed)
                if Task.isCancelled { context.count(\.unfinished) } else { await deliver(message, &history) }
                isBusy.store(false, ordering: .relaxed)
            }
        }
        task.withLock { $0 = work }
    }

    func finish() async {
        // The broker keeps what is durable: what has not begun is left to the next subscriber.
        if isDurable { context.count(\.unfinished, queue.closeAndEmpty()) } else { queue.close() }
        await task.withLock { $0 }?.value
    }

    func abandon() {
        queue.close()
        task.withLock { $0 }?.cancel()
    }

    func add(to statistics: inout BridgeStatistics) {
        statistics.waitingToDeliver += queue.count + (isBusy.load(ordering: .relaxed) ? 1 : 0)
    }

    // MARK: Delivering

    /// What is known of earlier deliveries, of durable messages.
    private struct History {
        var delivered: DuplicateWindow
        var failures: FailureCounts

        init(limit: Int) {
            delivered = DuplicateWindow(limit: limit)
            failures = FailureCounts(limit: limit)
        }
    }

    private func deliver(_ inbound: InboundMessage, _ history: inout History) async {
        let message = inbound.message
        do {
            let arrival = try context.arrival(message.headers, message.body, on: message.subject)
            guard arrival.envelope.source != context.source else { return settle(inbound, .acknowledged, \.echoes) }
            // Another route of this bridge delivers it.
            guard !earlier.contains(where: { $0.matches(message.subject) }) else {
                inbound.settle?(.acknowledged)
                return
            }
            let identity = inbound.settle == nil ? nil : arrival.identity(context.hash)
            if let identity, history.delivered.contains(identity) {
                return settle(inbound, .acknowledged, \.duplicates)
            }
            let delivery = try decode(arrival, context)
            let waits = inbound.settle != nil
            let report = try await TraceContext.withCurrent(arrival.envelope.trace) { try await delivery(waits) }
            guard waits else { return context.count(\.received) }
            guard
                !Task.isCancelled
                    || report.completed + report.failures.count + report.dropped + report.discarded == report.reached
            else {
                return context.count(\.unfinished)
            }
            try settle(inbound, identity, report, &history)
        } catch {
            await refuse(inbound, BridgeError.from(error, subject: message.subject))
        }
    }

    /// Settles a durable message that its listeners have heard.
    ///
    /// - Throws: ``BridgeError/Code/tooManyFailures`` if it is not to be delivered again.
    private func settle(
        _ inbound: InboundMessage,
        _ identity: KeyedHash.Digest?,
        _ report: DeliveryReport,
        _ history: inout History
    ) throws {
        let key = inbound.identity.map { context.hash.digest(of: $0) } ?? identity ?? context.hash.digest(of: "")
        guard !report.failures.isEmpty || report.dropped > 0 else {
            history.failures.forget(key)
            if let identity { history.delivered.insert(identity) }
            return settle(inbound, .acknowledged, \.received)
        }
        // A full buffer of a listener passes; only what a listener threw counts as a failure.
        let failures = history.failures.add(report.failures.isEmpty ? 0 : 1, to: key)
        guard failures < context.configuration.maximumFailures else {
            history.failures.forget(key)
            throw BridgeError(
                .tooManyFailures,
                subject: inbound.message.subject,
                detail: "listeners failed \(failures) times",
                underlyingError: report.failures.first?.error
            )
        }
        settle(inbound, .retry(after: context.configuration.backoff.delay(before: max(failures, 1))), \.retried)
    }

    private func settle(
        _ inbound: InboundMessage,
        _ settlement: Settlement,
        _ counter: WritableKeyPath<BridgeStatistics, Int>
    ) {
        context.count(counter)
        inbound.settle?(settlement)
    }

    private func refuse(_ inbound: InboundMessage, _ error: BridgeError) async {
        context.lose(error, \.refused)
        await context.onDeadLetter?(
            DeadLetter(message: inbound.message, error: error, deliveryCount: inbound.deliveryCount)
        )
        inbound.settle?(.terminated)
    }
}
