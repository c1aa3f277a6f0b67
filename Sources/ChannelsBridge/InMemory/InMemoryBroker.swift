internal import Channels

/// A message broker inside the process, shared by several ``InMemoryTransport``s.
///
/// It needs no server and stores nothing beyond its own lifetime. Otherwise it does what a broker does:
/// patterns, durable messages with acknowledgement and redelivery, requests, last values. Use it for tests,
/// for several switchboards in one process, and until there is a second process.
///
/// ## Behavior
///
/// - Messages are delivered on the publisher's thread, before `publish` returns, unless another thread is
///   delivering to the same subscription.
/// - A durable message is stored for each durable name that has subscribed before and whose pattern matches.
///   If there is none, it is not stored, unless ``Limits/replayedMessages`` is more than 0.
/// - Unsettled messages are delivered again when their connection ends, but not when it is slow.
/// - A durable message with the `ce-id` of an earlier one, among the last 65,536, is acknowledged and
///   dropped.
public final class InMemoryBroker: Sendable {
    /// Guarded by its lock, under which messages are enqueued and never delivered.
    let state: Locked<InMemoryBrokerState>
    let clock: any Clock<Duration>
    let limits: Limits
    /// Guarded by its lock.
    private let redeliveries = Locked(Redeliveries())

    /// The messages whose delay is not over, by their numbers.
    private struct Redeliveries {
        var lastNumber: UInt64 = 0
        var tasks: [UInt64: Task<Void, Never>] = [:]
    }

    /// The limits of a broker.
    public struct Limits: Hashable, Sendable {
        /// The maximum number of bytes of a body.
        public var bodySize: Int
        /// How many messages are stored for one durable name and pattern.
        public var keptMessages: Int
        /// How many messages may wait in a transport whose connection is broken.
        public var unsentMessages: Int
        /// How many durable messages are stored for durable names that subscribe later: the last ones. With 0,
        /// transports do not have `TransportCapabilities.replay`.
        public var replayedMessages: Int

        /// Creates limits.
        public init(
            bodySize: Int = 1 << 20,
            keptMessages: Int = 65_536,
            unsentMessages: Int = 1_024,
            replayedMessages: Int = 0
        ) {
            self.bodySize = bodySize
            self.keptMessages = keptMessages
            self.unsentMessages = unsentMessages
            self.replayedMessages = replayedMessages
        }
    }

    /// Creates an empty broker.
    ///
    /// - Parameters:
    ///   - limits: The maximum sizes of messages and buffers.
    ///   - clock: The clock for timeouts of requests and delays of redeliveries.
    public init(limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock()) {
        state = Locked(InMemoryBrokerState())
        self.limits = limits
        self.clock = clock
    }

    deinit {
        for task in redeliveries.withLock({ $0.tasks }).values { task.cancel() }
    }

    func settle(_ key: InMemoryBrokerState.ConsumerKey, _ number: UInt64, delivery: Int, _ settlement: Settlement) {
        let (reached, delayed) = state.withLock { $0.settle(key, number, delivery: delivery, settlement, self) }
        for queue in reached { queue.deliver() }
        guard let delayed, case .retry(let delay) = settlement else { return }
        redeliveries.withLock { redeliveries in
            redeliveries.lastNumber += 1
            let number = redeliveries.lastNumber
            redeliveries.tasks[number] = Task.detached { [weak self, clock] in
                try? await clock.sleep(for: delay)
                guard let self, !Task.isCancelled else { return }
                self.redeliveries.withLock { _ = $0.tasks.removeValue(forKey: number) }
                for queue in self.state.withLock({ $0.redeliver(key, delayed, self) }) { queue.deliver() }
            }
        }
    }
}
