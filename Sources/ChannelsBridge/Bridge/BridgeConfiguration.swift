/// How a bridge encodes, buffers, repeats and gives up. Every limit is positive; a bridge made with another
/// traps.
public struct BridgeConfiguration: Sendable {
    /// How messages become bytes; that of all processes that talk with this one.
    public var codec: any Codec
    /// Messages of one outgoing route that may wait to be sent. When one more is posted, it is dropped,
    /// counted and raises a fault.
    public var outgoingLimit: Int
    /// Messages, and requests, of one incoming route that may wait for their listeners. When one more comes,
    /// it is dropped, counted and raises a fault; a durable one is returned to the broker instead.
    public var incomingLimit: Int
    /// Bytes of the bodies of those that wait in one incoming route: the other limit.
    public var incomingByteLimit: Int
    /// Identifiers of durable messages remembered by an incoming route, to drop what is delivered twice. A
    /// message delivered a second time after that many others is delivered to listeners twice.
    public var duplicateWindow: Int
    /// How often a durable message may be delivered before it goes to the dead letters when its listeners
    /// throw. What the broker delivered while the incoming buffer was full counts, too.
    public var maximumDeliveries: Int
    /// How often the bridge tries to publish a durable message, or to store a state, before it gives up.
    public var publishAttempts: Int
    /// The waits between deliveries of a message that failed, and between attempts to publish.
    public var backoff: Backoff
    /// How long an asker waits for the reply of another process.
    public var requestTimeout: Duration
    /// Requests of other processes that are answered at the same time, by one route.
    public var concurrentRequests: Int
    /// How long the end of a bridge may take: for what waits to be sent, and for what came in to be
    /// delivered.
    public var closeDeadline: Duration
    /// What the waits before repetitions are measured by.
    public var clock: any Clock<Duration>

    /// Creates a configuration; every value has a default.
    public init(
        codec: any Codec = JSONCodec(),
        outgoingLimit: Int = 16_384,
        incomingLimit: Int = 16_384,
        incomingByteLimit: Int = 64 << 20,
        duplicateWindow: Int = 16_384,
        maximumDeliveries: Int = 5,
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
        self.maximumDeliveries = maximumDeliveries
        self.publishAttempts = publishAttempts
        self.backoff = backoff
        self.requestTimeout = requestTimeout
        self.concurrentRequests = concurrentRequests
        self.closeDeadline = closeDeadline
        self.clock = clock
    }

    /// Traps where a limit leaves nothing.
    func check() {
        let limits = [
            ("outgoingLimit", outgoingLimit), ("incomingLimit", incomingLimit),
            ("incomingByteLimit", incomingByteLimit),
            ("duplicateWindow", duplicateWindow), ("maximumDeliveries", maximumDeliveries),
            ("publishAttempts", publishAttempts),
            ("concurrentRequests", concurrentRequests),
        ]
        for (name, limit) in limits {
            precondition(limit > 0, "BridgeConfiguration.\(name) is \(limit); it must be positive")
        }
    }
}
