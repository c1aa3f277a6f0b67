#if NATS
import ChannelsBridge

/// The request that creates a durable consumer, from which the processes of its name fetch.
struct ConsumerRequest: Encodable {
    struct Configuration: Encodable {
        var durableName: String
        var deliverPolicy: String
        var optStartSeq: UInt64?
        var optStartTime: String?
        var filterSubject: String
        var ackPolicy = "explicit"
        var ackWait: Int64
        /// Without a limit: a server that counts deliveries also counts those that ended with a process, and
        /// would silently stop delivering.
        var maxDeliver = -1
        var maxAckPending: Int
        var replayPolicy = "instant"
        /// After how long without a subscriber the server deletes it, in nanoseconds; nil: never.
        var inactiveThreshold: Int64?
    }

    var streamName: String
    var config: Configuration

    init(
        stream: String,
        name: String,
        pattern: String,
        from start: ReplayStart?,
        _ deliveries: NATSConfiguration.Deliveries
    ) {
        streamName = stream
        config = Configuration(
            durableName: Self.consumerName(name, pattern),
            deliverPolicy: "all",
            filterSubject: pattern,
            ackWait: deliveries.acknowledgementWait.nanoseconds,
            maxAckPending: max(1, deliveries.unsettledLimit),
            inactiveThreshold: deliveries.isTemporary ? Duration.seconds(300).nanoseconds : nil
        )
        switch (start ?? deliveries.start).position {
        case .stored: break
        case .new: config.deliverPolicy = "new"
        case .sequence(let number):
            (config.deliverPolicy, config.optStartSeq) = ("by_start_sequence", max(1, number))
        case .time(let seconds):
            (config.deliverPolicy, config.optStartTime) = ("by_start_time", Timestamp(secondsSince1970: seconds).text)
        }
    }

    /// Whether it hears all that the stream has.
    var beginsWithTheFirst: Bool { config.deliverPolicy == "all" }

    /// This request for a consumer that begins with a sequence number of the stream.
    func beginning(with sequence: UInt64) -> ConsumerRequest {
        var request = self
        request.config.deliverPolicy = "by_start_sequence"
        (request.config.optStartSeq, request.config.optStartTime) = (sequence, nil)
        return request
    }

    /// This request for a consumer that begins where a known one began.
    func beginning(as known: KnownConsumer) -> ConsumerRequest {
        var request = self
        request.config.deliverPolicy = known.config.deliverPolicy
        request.config.optStartSeq = known.config.optStartSeq
        request.config.optStartTime = known.config.optStartTime
        return request
    }

    /// A name of a consumer is one token of letters, digits, `-` and `_`; the hash keeps different names and
    /// patterns apart.
    private static func consumerName(_ name: String, _ pattern: String) -> String {
        let readable = name.utf8.prefix(40).map { byte -> Character in
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
                || scalar == "-"
            return isPlain ? Character(scalar) : "_"
        }
        // FNV-1a: the same in every process, unlike Hasher.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in Array(name.utf8) + [0] + Array(pattern.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(readable) + "_" + String(hash, radix: 36)
    }
}

/// A consumer that the server has.
struct KnownConsumer: Decodable {
    struct Configuration: Decodable {
        var deliverPolicy: String
        var optStartSeq: UInt64?
        var optStartTime: String?
    }

    var config: Configuration
}

/// What a consumer has delivered, as the server says.
struct ConsumerState: Decodable {
    private struct Position: Decodable { var streamSeq, consumerSeq: UInt64? }

    private var delivered: Position?
    private var ackFloor: Position?
    private var numAckPending: Int?
    private var numWaiting: Int?
    /// At least up to here, messages have been delivered. Not from the server.
    var lastKnown: UInt64?

    /// How many messages are delivered and not settled.
    var unsettled: Int { numAckPending ?? 0 }
    /// The sequence in the stream of the last message that was delivered for the first time.
    var lastDelivered: UInt64 { max(delivered?.streamSeq ?? 0, lastKnown ?? 0) }
    /// The number of the last delivery, of which a message may have had several.
    var lastDelivery: UInt64 { delivered?.consumerSeq ?? 0 }
    /// Up to which sequence in the stream all messages are settled.
    var lastSettled: UInt64 { ackFloor?.streamSeq ?? 0 }
    /// Up to which number all deliveries are settled.
    var lastSettledDelivery: UInt64 { ackFloor?.consumerSeq ?? 0 }
    /// How many messages are delivered, not settled, and not held.
    ///
    /// - Parameter held: Sequences in the stream.
    func missing(besides held: Set<UInt64>) -> Int {
        unsettled - held.count { $0 > lastSettled && $0 <= lastDelivered }
    }

    /// How many requests for messages are pending.
    var requests: Int { numWaiting ?? 0 }
}

/// The request for messages of a consumer.
struct FetchRequest {
    let json: [UInt8]

    /// - Parameter expires: How long the server keeps it.
    init(_ request: PullState.Request, expires: Duration) {
        let bytes = request.bytes.map { ",\"max_bytes\":\($0)" } ?? ""
        json = Array("{\"batch\":\(request.messages)\(bytes),\"expires\":\(expires.nanoseconds)}".utf8)
    }
}
#endif
