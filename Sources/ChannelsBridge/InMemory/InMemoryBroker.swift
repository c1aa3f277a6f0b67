internal import Channels

/// A message broker inside the process: what several ``InMemoryTransport``s share.
///
/// It needs nothing to start and keeps nothing beyond its own life, and otherwise does what a broker does:
/// patterns, durable messages with acknowledgement and repetition, requests, last values. For tests, for
/// several switchboards in one process, and as the default until there is a second process.
///
/// ## Behavior
///
/// - Messages are delivered on the publisher's thread, before `publish` returns unless another thread is
///   delivering to the same subscription.
/// - A durable message is kept for each durable name whose pattern matches and that has subscribed before;
///   where there is none, for nobody.
/// - At most 512 messages of a durable name are delivered and unsettled at a time. They are delivered again
///   when the connection that has them ends, not when it is slow.
/// - Of durable messages with the same `ce-id`, the later ones are acknowledged and dropped, within the last
///   65,536.
public final class InMemoryBroker: Sendable {
    /// Guarded by its lock, in which only queues are appended to.
    let state: Locked<InMemoryBrokerState>
    let clock: any Clock<Duration>
    let limits: Limits

    /// What it takes at most.
    public struct Limits: Hashable, Sendable {
        /// Bytes of a body.
        public var bodySize: Int
        /// Messages kept for one durable name and pattern.
        public var keptMessages: Int
        /// Messages that wait in a transport whose connection is broken.
        public var unsentMessages: Int

        /// Creates limits.
        public init(bodySize: Int = 1 << 20, keptMessages: Int = 65_536, unsentMessages: Int = 1_024) {
            self.bodySize = bodySize
            self.keptMessages = keptMessages
            self.unsentMessages = unsentMessages
        }
    }

    /// Creates a broker without messages.
    ///
    /// - Parameters:
    ///   - limits: What it takes at most.
    ///   - clock: What times out requests and delays repetitions.
    public init(limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock()) {
        state = Locked(InMemoryBrokerState())
        self.limits = limits
        self.clock = clock
    }
}

extension InMemoryBroker {
    func settle(_ key: InMemoryBrokerState.ConsumerKey, _ number: UInt64, delivery: Int, _ settlement: Settlement) {
        let (reached, delayed) = state.withLock { $0.settle(key, number, delivery: delivery, settlement, self) }
        for queue in reached { queue.deliver() }
        guard let delayed, case .retry(let delay) = settlement else { return }
        Task.detached { [weak self, clock] in
            try await clock.sleep(for: delay)
            guard let self else { return }
            for queue in self.state.withLock({ $0.redeliver(key, delayed, self) }) { queue.deliver() }
        }
    }
}
