#if NATS
import ChannelsBridge

/// How far a ``LastValueWatch`` has come with its consumer: the transitions, without locks.
///
/// Consumers share one subject, and a heartbeat does not say whose it is. One that the server still has after it was
/// replaced would therefore cause a new one at each of its heartbeats, so each is deleted until that has surely arrived.
struct WatchState {
    static let heartbeat = Duration.seconds(2)

    enum Step {
        case ignore
        /// A message is missing, or the bucket was replaced.
        case restart
        /// The value was handed over before.
        case skip
        /// - Parameter isReplaced: Whether the value of the single subject was removed, and this is somebody else's.
        case handOver(revision: UInt64, bucket: Int, isReplaced: Bool)
    }

    private let bucket: Bucket
    private let isOfMany: Bool
    /// The consumers that the server may have. The last one is awaited.
    private(set) var consumers: [String] = []
    private var nextSequence: UInt64 = 1
    /// How many values were stored when the consumer was created, once that is known, and with how many of its
    /// messages the handler is done.
    private var expected: UInt64?
    private var handed: UInt64 = 0
    private var revision: UInt64 = 0
    /// How often the bucket had been replaced when the consumer was requested.
    private var consumerBucket = 0
    private var lastHeard = ContinuousClock.now
    /// Whether a consumer is being created: at first by ``LastValueWatch/open()``.
    private var isBeginning = true
    /// Whether there was a reason to begin again while a consumer was being created.
    private var isStale = false
    private(set) var isClosed = false
    /// How often the bucket had been replaced when a value was last handed over that has not been lost since. Only used
    /// for a single subject.
    private var handedOver: Int?

    init(_ bucket: Bucket, isOfMany: Bool) {
        (self.bucket, self.isOfMany) = (bucket, isOfMany)
    }

    /// Whether everything that was stored when the consumer was created has been handed over.
    var isComplete: Bool { expected.map { handed >= $0 } ?? false }

    // MARK: Creating consumers

    /// - Returns: Whether consumers have to be created now, until ``hasBegun(_:)``.
    mutating func begin() -> Bool {
        if isBeginning { isStale = true }
        if isClosed || isBeginning { return false }
        isBeginning = true
        return true
    }

    /// What is found out from now on holds for the consumer that is created next.
    mutating func prepare() { isStale = false }

    /// A consumer is requested.
    ///
    /// - Returns: The consumers to delete before.
    mutating func request(_ name: String) -> [String] {
        (nextSequence, expected, handed, consumerBucket) = (1, nil, 0, bucket.replacements)
        defer { consumers.append(name) }
        return consumers
    }

    /// The server has refused the request, and has deleted the others.
    mutating func refused() { consumers = [] }

    /// The server has created the consumer that was requested last, and has deleted the others.
    ///
    /// - Parameter count: How many values were stored.
    /// - Returns: Whether the value of the single subject is lost.
    mutating func created(count: UInt64) -> Bool {
        expected = count
        consumers.removeFirst(max(0, consumers.count - 1))
        // A value that has been stored meanwhile may have arrived before the answer.
        guard count == 0, nextSequence == 1, !isOfMany else { return false }
        return handedOver.take() != nil
    }

    /// - Returns: Whether the creation is done; otherwise it has to be repeated.
    mutating func hasBegun(_ now: ContinuousClock.Instant) -> Bool {
        if isStale, !isClosed { return false }
        (isBeginning, lastHeard) = (false, now)
        return true
    }

    mutating func close() { isClosed = true }

    // MARK: Receiving

    /// Receives a message: a value, or a heartbeat.
    ///
    /// - Parameters:
    ///   - lastDelivered: Of a heartbeat: how far its consumer has come.
    ///   - isFirst: Whether the value was stored because there was none.
    mutating func received(
        _ delivery: Delivery?,
        lastDelivered: UInt64?,
        isFirst: Bool,
        _ now: ContinuousClock.Instant
    ) -> Step {
        guard !isClosed else { return .ignore }
        lastHeard = now
        // A value from the previous bucket would be taken for newer than every value of this one.
        let replacements = bucket.replacements
        guard consumerBucket == replacements else { return .restart }
        if delivery == nil, let lastDelivered { return lastDelivered >= nextSequence ? .restart : .ignore }
        // It is something else, or a message from another consumer.
        guard let delivery, delivery.consumer == consumers.last else { return .ignore }
        guard delivery.consumerSequence == nextSequence else { return .restart }
        nextSequence += 1
        let number = bucket.revision(delivery.streamSequence)
        guard number > revision else { return .skip }
        revision = number
        let isReplaced = isFirst && !isOfMany && handedOver == replacements
        return .handOver(revision: number, bucket: replacements, isReplaced: isReplaced)
    }

    /// The handler has returned for a value, or it was skipped. No other was received meanwhile.
    mutating func handed(_ step: Step) {
        handed = nextSequence - 1
        if case .handOver(_, let bucket, _) = step { handedOver = bucket }
    }

    /// Whether heartbeats are missing.
    func isSilent(_ now: ContinuousClock.Instant) -> Bool { lastHeard.duration(to: now) > Self.heartbeat * 3 }
}
#endif
