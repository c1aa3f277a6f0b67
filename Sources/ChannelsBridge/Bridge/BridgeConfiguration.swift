/// The codec, limits, timeouts and delays of a bridge. Every limit must be positive; otherwise creating the
/// bridge traps.
public struct BridgeConfiguration: Sendable {
    /// How messages are encoded. All processes that exchange messages must use the same codec.
    public var codec: any Codec
    /// How many messages of one outgoing route may wait to be sent. Further messages are dropped, counted and
    /// reported as faults.
    public var outgoingLimit: Int
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
    /// How often the bridge tries to publish a durable message before the post fails. A state is retried
    /// until it is stored or replaced; a fault is raised every time this many attempts have failed.
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
            ("outgoingLimit", outgoingLimit), ("incomingLimit", incomingLimit),
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
