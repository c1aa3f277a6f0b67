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
        queue = InboundQueue(
            limit: context.configuration.incomingLimit,
            byteLimit: context.configuration.incomingByteLimit
        )
    }

    var needs: TransportCapabilities { isDurable ? .durable : [] }

    func start() async throws {
        try await context.transport.subscribe(to: pattern, durableName: isDurable ? context.name : nil) {
            [weak self] message in
            self?.take(message)
        }
    }

    /// Called by the transport.
    private func take(_ inbound: InboundMessage) {
        switch queue.add(inbound, bytes: inbound.message.body.count) {
        case .taken: break
        case .full:
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
            var window = DuplicateWindow(limit: context.configuration.duplicateWindow)
            while let message = await queue.next() {
                // Posted by this task, not on the transport's thread, which must not wait for the listeners.
                let dropped = queue.takeDroppedCount()
                if dropped > 0 { context.events.post(.slowConsumer(pattern: pattern.text, dropped: dropped)) }
                isBusy.store(true, ordering: .relaxed)
                if Task.isCancelled { context.count(\.unfinished) } else { await deliver(message, &window) }
                isBusy.store(false, ordering: .relaxed)
            }
        }
        task.withLock { $0 = work }
    }

    func finish() async {
        queue.close()
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

    private func deliver(_ inbound: InboundMessage, _ window: inout DuplicateWindow) async {
        let message = inbound.message
        do {
            // A message that crashes the process each time is never failed by a listener.
            let maximum = context.configuration.maximumDeliveries
            guard inbound.settle == nil || inbound.deliveryCount <= maximum else {
                throw BridgeError(
                    .tooManyDeliveries,
                    subject: message.subject,
                    detail: "delivered \(maximum) times before"
                )
            }
            let arrival = try context.arrival(message.headers, message.body, on: message.subject)
            guard arrival.envelope.source != context.source else { return settle(inbound, .acknowledged, \.echoes) }
            // Another route of this bridge delivers it.
            guard !earlier.contains(where: { $0.matches(message.subject) }) else {
                inbound.settle?(.acknowledged)
                return
            }
            if inbound.settle != nil, let identity = arrival.identity, window.contains(identity) {
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
            guard let failure = failure(report, message.subject) else {
                if let identity = arrival.identity { window.insert(identity) }
                return settle(inbound, .acknowledged, \.received)
            }
            guard inbound.deliveryCount < maximum else {
                let detail = "delivered \(inbound.deliveryCount) times"
                throw BridgeError(
                    .tooManyDeliveries,
                    subject: message.subject,
                    detail: detail,
                    underlyingError: failure
                )
            }
            settle(
                inbound,
                .retry(after: context.configuration.backoff.delay(before: inbound.deliveryCount)),
                \.retried
            )
        } catch {
            await refuse(inbound, BridgeError.from(error, subject: message.subject))
        }
    }

    /// The reason to deliver a durable message again, if there is one.
    private func failure(_ report: DeliveryReport, _ subject: String) -> (any Error)? {
        if let failure = report.failures.first { return failure.error }
        guard report.dropped > 0 else { return nil }
        return BridgeError(.bufferFull, subject: subject, detail: "the buffer of a listener was full")
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
