/// The codec, limits, timeouts and delays of a bridge. Every limit must be positive; otherwise creating the
/// bridge traps.
public struct BridgeConfiguration: Sendable {
    /// How messages are encoded. All processes that exchange messages must use the same codec.
    public var codec: any Codec
    /// How many messages of one outgoing route may wait to be sent, durable ones until they are acknowledged.
    /// Further messages are dropped, counted and reported as faults. 16,384 by default.
    public var outgoingLimit: Int
    /// How many bytes the durable messages of one outgoing route may have together until they are acknowledged,
    /// with their headers. 64 MiB by default.
    public var outgoingByteLimit: Int
    /// How many durable messages of one outgoing route are published before the first is acknowledged. 256 by
    /// default. With 1, order is preserved even if the broker loses single messages, as a cluster may while it
    /// elects a leader.
    public var unacknowledgedLimit: Int
    /// How many messages or requests of one incoming route may wait for their listeners. Further ones are
    /// dropped, counted and reported as faults. A durable route fetches no more than that; the others wait at
    /// the broker.
    public var incomingLimit: Int
    /// How many bytes the messages waiting in one incoming route may have together, with their headers. 64 MiB
    /// by default.
    public var incomingByteLimit: Int
    /// How many durable messages an incoming route remembers, by subject, source and identifier, in order to
    /// drop duplicates. A duplicate that arrives after that many other messages is delivered to listeners
    /// again. 16,384 by default, which take up to one megabyte.
    public var duplicateWindow: Int
    /// How often the listeners of a durable message may fail, in this process, before it becomes a dead letter.
    /// Only what listeners throw counts: not deliveries that ended with a shutdown or a crash, nor full
    /// buffers. 5 by default.
    public var maximumFailures: Int
    /// After how many failed attempts to publish a durable message or to store a state a fault is raised, each
    /// time. A message is tried again until it is acknowledged, a state until it is stored or replaced. 8 by
    /// default.
    public var publishAttempts: Int
    /// The delays before a failed message is delivered again, and between attempts to publish.
    public var backoff: Backoff
    /// How long to wait for the reply of another process to a request.
    public var requestTimeout: Duration
    /// How many requests from other processes one route handles concurrently.
    public var concurrentRequests: Int
    /// How long closing a bridge may take: sending waiting messages, and delivering received ones.
    public var closeDeadline: Duration
    /// The clock for the delays before retries.
    public var clock: any Clock<Duration>

    /// Creates a configuration; every value has a default.
    public init(
        codec: any Codec = JSONCodec(),
        outgoingLimit: Int = 16_384,
        outgoingByteLimit: Int = 64 << 20,
        unacknowledgedLimit: Int = 256,
        incomingLimit: Int = 16_384,
        incomingByteLimit: Int = 64 << 20,
        duplicateWindow: Int = 16_384,
        maximumFailures: Int = 5,
        publishAttempts: Int = 8,
        backoff: Backoff = Backoff(),
        requestTimeout: Duration = .seconds(10),
        concurrentRequests: Int = 64,
        closeDeadline: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.codec = codec
        self.outgoingLimit = outgoingLimit
        self.outgoingByteLimit = outgoingByteLimit
        self.unacknowledgedLimit = unacknowledgedLimit
        self.incomingLimit = incomingLimit
        self.incomingByteLimit = incomingByteLimit
        self.duplicateWindow = duplicateWindow
        self.maximumFailures = maximumFailures
        self.publishAttempts = publishAttempts
        self.backoff = backoff
        self.requestTimeout = requestTimeout
        self.concurrentRequests = concurrentRequests
        self.closeDeadline = closeDeadline
        self.clock = clock
    }

    /// Traps if a limit is not positive.
    func check() {
        let limits = [
            ("outgoingLimit", outgoingLimit), ("outgoingByteLimit", outgoingByteLimit),
            ("unacknowledgedLimit", unacknowledgedLimit), ("incomingLimit", incomingLimit),
            ("incomingByteLimit", incomingByteLimit),
            ("duplicateWindow", duplicateWindow), ("maximumFailures", maximumFailures),
            ("publishAttempts", publishAttempts),
            ("concurrentRequests", concurrentRequests),
        ]
        for (name, limit) in limits {
            precondition(limit > 0, "BridgeConfiguration.\(name) is \(limit); it must be positive")
        }
    }
}
