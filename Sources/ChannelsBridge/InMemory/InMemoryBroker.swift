internal import Channels

/// A message broker inside the process, which several ``InMemoryTransport``s share.
///
/// It needs no server, and what it stores ends with it. It supports patterns, durable messages with
/// acknowledgement and redelivery, requests and last values. Use it for tests, for several switchboards in
/// one process, or until there is a second process.
///
/// ## Behavior
///
/// - Messages are delivered on the publisher's thread, before `publish` returns, unless another thread is
///   delivering to the same subscription.
/// - A durable message is stored for each durable name whose pattern matches and that has subscribed before.
///   The last 1,024 are also stored for names that subscribe later.
/// - An unsettled message is delivered again when its connection ends or breaks, or soon after it is released
///   without being settled. There is no acknowledgement wait: a slow listener keeps its message.
/// - A durable message with the `ce-id` of an earlier one, among at least the last 65,536, is acknowledged
///   and dropped.
public final class InMemoryBroker: Sendable {
    /// Messages are enqueued while its lock is held, but never delivered.
    private let state: Locked<InMemoryBrokerState>
    let clock: any Clock<Duration>
    let limits: Limits
    /// Opens when the broker is released, which ends all delays.
    private let isReleased = Latch()

    /// The limits of a broker. Only tests change them. The defaults are similar to those of a NATS server.
    package struct Limits: Hashable, Sendable {
        /// The maximum number of bytes of a body.
        package var bodyLimit: Int
        /// How many messages are stored for one durable name and pattern, and how many dead letters in all.
        package var keptMessages: Int
        /// How many messages a transport queues while its connection is broken.
        package var unsentMessages: Int
        /// How many of the latest durable messages are stored for durable names that subscribe later. 1,024
        /// by default.
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

    /// Creates an empty broker, for bodies of up to 1 MiB and up to 65,536 messages per durable name.
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
            state.onSettle = { [weak self] place, entry, settlement in self?.settle(place, entry, settlement) }
        }
    }

    deinit { isReleased.open() }

    /// Changes the state under the lock, and then delivers what the body has enqueued, without the lock. A
    /// body that throws must not have enqueued anything.
    func change<Result, Failure: Error>(
        _ body: (inout InMemoryBrokerState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (result, reached) = try state.withLock { state throws(Failure) in
            (try body(&state), state.takeReached())
        }
        for queue in reached { queue.deliver() }
        return result
    }

    /// How long a message that was released without being settled waits for its next delivery.
    private static let releaseDelay = Duration.seconds(1)

    private func settle(_ consumer: Int, _ entry: DurableConsumer.Entry, _ settlement: Settlement?) {
        guard let settlement else {
            // Not now, because the message may have been released with the lock held.
            return change(after: Self.releaseDelay) { _ = $0.settle(consumer, entry, .retry(after: .zero)) }
        }
        guard let delay = change({ $0.settle(consumer, entry, settlement) }) else { return }
        change(after: delay) { $0.redeliver(entry, consumer) }
    }

    private func change(after delay: Duration, _ body: @escaping @Sendable (inout InMemoryBrokerState) -> Void) {
        Task.detached { [weak self, isReleased, clock] in
            await isReleased.wait(atMost: delay, clock: clock)
            self?.change(body)
        }
    }
}
