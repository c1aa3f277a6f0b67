internal import Channels
internal import Synchronization

/// Delivers the messages of other processes on the subjects that match a pattern, one at a time.
final class IncomingWorker: RouteWorker {
    private let pattern: ChannelPattern
    private let isDurable: Bool
    private let options: BridgeRoute.Options
    private let context: BridgeContext
    private let delivery: IncomingDelivery
    /// Each message that is not durable is charged to the bridge. Durable ones are covered by the route's
    /// share.
    private let queue: InboundQueue<InboundMessage>
    /// The share of the route. A durable route fetches no more.
    private let share: BridgeContext.Share
    private let reserved: Charge?

    /// Messages that are not durable and that listeners have yet to finish.
    private let unfinished = InFlight()
    private let task = Locked<Task<Void, Never>?>(nil)
    /// How many messages were taken from the queue, and have not been delivered.
    private let taken = Atomic<Int>(0)

    init(
        _ pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        isDurable: Bool,
        _ options: BridgeRoute.Options,
        _ context: BridgeContext,
        _ decode: @escaping IncomingDelivery.Decode
    ) {
        (self.pattern, self.isDurable, self.options, self.context) = (pattern, isDurable, options, context)
        (share, reserved) = isDurable ? context.shareOfDurableRoute() : (context.shareOfRoute, nil)
        delivery = IncomingDelivery(
            context,
            options,
            pattern,
            shadowedBy: earlier,
            window: share.window,
            unfinished,
            decode
        )
        // A transport that keeps its promise fetches no more durable messages than the limits say. It may
        // measure their size a little differently, so the queue has room for more.
        let slack = isDurable ? 2 : 1
        queue = InboundQueue(
            limit: min(share.messages, .max / 2) * slack,
            byteLimit: min(share.bytes, .max / 2) * slack,
            budget: isDurable ? nil : context.incoming
        )
    }

    var needs: TransportCapabilities {
        guard isDurable else { return options.group == nil ? [] : .groups }
        return options.start == nil ? .durable : [.durable, .replay]
    }

    var isInbound: Bool { true }

    /// Begins with one message, because the first may be one that ends processes.
    private var subscription: TransportSubscription {
        get throws {
            TransportSubscription(
                to: try context.configuration.subjects(matching: pattern),
                durableName: isDurable ? delivery.durableName : nil,
                group: isDurable ? nil : options.group?.text,
                start: options.start,
                prefetchLimit: 1,
                prefetchByteLimit: share.bytes
            )
        }
    }

    func start() async throws {
        try await context.transport.subscribe(subscription) { [weak self] message in self?.take(message) }
    }

    /// Called by the transport.
    private func take(_ inbound: InboundMessage) {
        switch queue.add(inbound, bytes: inbound.message.byteCount) {
        case .taken: break
        case .full:
            // A durable route fetches no more than fits; this is for transports that deliver more.
            guard let settle = inbound.settle else {
                let detail =
                    "\(share.messages) messages or \(share.bytes) bytes are queued for listeners, or the bridge has filled its buffer"
                let error = BridgeError(.bufferFull, subject: inbound.message.subject, detail: detail)
                return context.lose(error, \.overflowed)
            }
            context.count(\.retried)
            settle(.retry(after: context.configuration.backoff.delay(before: inbound.deliveryCount)))
        case .closed:
            // The route has ended. A durable message is delivered again, to the next subscriber.
            context.count(\.unfinished)
        }
    }

    func work() {
        let work = Task { [self] in
            var (delivery, limit) = (delivery, 1)
            while let (message, charge, dropped) = await queue.next() {
                taken.wrappingAdd(1, ordering: .relaxed)
                defer { taken.wrappingSubtract(1, ordering: .relaxed) }
                // Posted by this task, because the transport's thread must not wait for listeners.
                if dropped > 0 { context.events.post(.slowConsumer(pattern: pattern.text, dropped: dropped)) }
                let isAlone = delivery.pause != nil || delivery.mayEndProcesses(message)
                let wanted = isAlone ? 1 : min(context.configuration.prefetchLimit, share.messages)
                if wanted != limit { limitPrefetch(to: wanted) }
                limit = wanted
                if isAlone {
                    await clearQueue(&delivery)
                    if let pause = delivery.pause {
                        await context.isEnding.wait(atMost: pause, clock: context.configuration.clock)
                    }
                    if context.isEnding.isOpen { return context.count(\.unfinished) }
                }
                await delivery.deliver(message, charge)
            }
        }
        task.withLock { $0 = work }
    }

    private func limitPrefetch(to limit: Int) {
        guard isDurable, let subscription = try? subscription else { return }
        context.transport.limitPrefetch(to: limit, of: subscription)
        // The bridge may have ended meanwhile.
        if limit > 0, context.isEnding.isOpen { context.transport.limitPrefetch(to: 0, of: subscription) }
    }

    /// Delivers what was taken together with a message that has to be delivered alone, or gives it back to the broker.
    private func clearQueue(_ delivery: inout IncomingDelivery) async {
        while let (other, charge, _) = queue.popFirst() {
            guard delivery.pause != nil || delivery.mayEndProcesses(other) else {
                await delivery.deliver(other, charge)
                continue
            }
            context.count(\.retried)
            // Not at once, because a transport that has asked for more messages would receive them again.
            other.settle?(.retry(after: .seconds(1)))
        }
    }

    func finish() async {
        // Durable messages that have not been delivered yet are left to the broker for the next subscriber, and no more
        // are taken.
        if isDurable {
            limitPrefetch(to: 0)
            context.count(\.unfinished, queue.closeAndEmpty().count)
        } else {
            try? await context.isDrained.wait()
            queue.close()
        }
        await task.withLock { $0 }?.value
        await unfinished.wait()
    }

    var isIdle: Bool {
        taken.load(ordering: .relaxed) == 0 && unfinished.count == 0 && (isDurable || queue.count == 0)
    }

    func abandon() {
        // Messages in flight were counted as received when they were delivered.
        let count = unfinished.abandon()
        context.count(\.received, -count)
        context.count(\.unfinished, queue.closeAndEmpty().count + count)
        task.withLock { $0 }?.cancel()
    }

    func add(to statistics: inout BridgeStatistics) {
        statistics.waitingToDeliver += queue.count + taken.load(ordering: .relaxed)
    }
}
