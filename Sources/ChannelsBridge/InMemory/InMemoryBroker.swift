internal import Channels

/// A message broker inside the process, shared by several ``InMemoryTransport``s.
///
/// It needs no server and stores nothing beyond its own lifetime. It supports patterns, durable messages with
/// acknowledgement and redelivery, requests and last values. Use it for tests, for several switchboards in
/// one process, and until there is a second process.
///
/// ## Behavior
///
/// - Messages are delivered on the publisher's thread, before `publish` returns, unless another thread is
///   delivering to the same subscription.
/// - A durable message is stored for each durable name that has subscribed before and whose pattern matches,
///   and the last 1,024 for names that subscribe later.
/// - Unsettled messages are delivered again when their connection ends, but not when it is slow.
/// - A durable message with the `ce-id` of an earlier one, among the last 65,536 at least, is acknowledged
///   and dropped.
public final class InMemoryBroker: Sendable {
    /// Guarded by its lock, under which messages are enqueued and never delivered.
    private let state: Locked<InMemoryBrokerState>
    let clock: any Clock<Duration>
    let limits: Limits
    /// Opens when the broker is released: no delay of a message is waited for any longer.
    private let isReleased = Latch()

    /// The limits of a broker: constants, except for tests. They are of the size of a NATS server's.
    package struct Limits: Hashable, Sendable {
        /// The maximum number of bytes of a body.
        package var bodyLimit: Int
        /// How many messages are stored for one durable name and pattern.
        package var keptMessages: Int
        /// How many messages a transport queues while its connection is broken.
        package var unsentMessages: Int
        /// How many of the last durable messages are stored for durable names that subscribe later. 1,024 by
        /// default.
        ///
        /// With 0, such a name begins with the next message, and transports do not have
        /// `TransportCapabilities.replay`.
        package var replayedMessages: Int

        /// Creates limits.
        package init(
            bodyLimit: Int = 1 << 20,
            keptMessages: Int = 65_536,
            unsentMessages: Int = 1_024,
            replayedMessages: Int = 1_024
        ) {
            self.bodyLimit = bodyLimit
            self.keptMessages = keptMessages
            self.unsentMessages = unsentMessages
            self.replayedMessages = replayedMessages
        }
    }

    /// Creates an empty broker, for bodies of up to 1 MiB and up to 65,536 messages of each durable name.
    public convenience init() { self.init(limits: Limits()) }

    /// Creates an empty broker.
    ///
    /// - Parameters:
    ///   - limits: The maximum sizes of messages and buffers.
    ///   - clock: The clock for timeouts of requests and delays of redeliveries.
    /// - Precondition: The limits are positive; `replayedMessages` may be 0.
    package init(limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock()) {
        Settings.check(
            "InMemoryBroker.Limits",
            limits: [
                ("bodyLimit", limits.bodyLimit), ("keptMessages", limits.keptMessages),
                ("unsentMessages", limits.unsentMessages),
            ],
            times: []
        )
        state = Locked(InMemoryBrokerState(limits))
        self.limits = limits
        self.clock = clock
        state.withLock { state in
            state.onSettle = { [weak self] key, entry, settlement in self?.settle(key, entry, settlement) }
        }
    }

    deinit { isReleased.open() }

    /// Changes the state, and then delivers what that has enqueued, without the lock. What throws must have enqueued
    /// nothing.
    func change<Result, Failure: Error>(
        _ body: (inout InMemoryBrokerState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (result, reached) = try state.withLock { state throws(Failure) in
            (try body(&state), state.takeReached())
        }
        for queue in reached { queue.deliver() }
        return result
    }

    /// How long a message waits that was released without being settled.
    private static let releaseDelay = Duration.seconds(1)

    private func settle(
        _ key: InMemoryBrokerState.ConsumerKey,
        _ entry: DurableConsumer.Entry,
        _ settlement: Settlement?
    ) {
        guard let settlement else {
            // Later: it may be released with the lock held.
            return change(after: Self.releaseDelay) { _ = $0.settle(key, entry, .retry(after: .zero)) }
        }
        guard let delay = change({ $0.settle(key, entry, settlement) }) else { return }
        change(after: delay) { $0.redeliver(entry, key) }
    }

    private func change(after delay: Duration, _ body: @escaping @Sendable (inout InMemoryBrokerState) -> Void) {
        Task.detached { [weak self, isReleased, clock] in
            await isReleased.wait(atMost: delay, clock: clock)
            self?.change(body)
        }
    }
}
