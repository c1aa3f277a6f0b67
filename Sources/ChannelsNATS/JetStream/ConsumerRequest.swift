#if NATS
import ChannelsBridge

/// The request that creates a durable consumer, from which all processes with its name fetch messages.
struct ConsumerRequest: Encodable {
    struct Configuration: Encodable {
        var durableName: String
        var deliverPolicy: String
        var optStartSeq: UInt64?
        var optStartTime: String?
        var filterSubject: String
        var ackPolicy = "explicit"
        var ackWait: Int64
        /// No limit, because the server also counts deliveries to processes that were killed, and would
        /// silently stop delivering the message.
        var maxDeliver = -1
        var maxAckPending: Int
        var replayPolicy = "instant"
        /// After how many nanoseconds without a subscriber the server deletes it; nil for never.
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
            maxAckPending: deliveries.pendingLimit,
            inactiveThreshold: deliveries.isTemporary ? Duration.seconds(300).nanoseconds : nil
        )
        switch (start ?? .beginning).position {
        case .beginning: break
        case .new: config.deliverPolicy = "new"
        case .sequence(let number):
            (config.deliverPolicy, config.optStartSeq) = ("by_start_sequence", max(1, number))
        case .time(let seconds):
            (config.deliverPolicy, config.optStartTime) = ("by_start_time", Timestamp(secondsSince1970: seconds).text)
        }
    }

    /// Returns this request for a consumer that begins with a sequence number of the stream.
    func beginning(with sequence: UInt64) -> ConsumerRequest {
        var request = self
        request.config.deliverPolicy = "by_start_sequence"
        (request.config.optStartSeq, request.config.optStartTime) = (sequence, nil)
        return request
    }

    /// Returns the name of a consumer: one token of letters, digits, `-` and `_`. A hash tells different
    /// names and patterns apart.
    static func consumerName(_ name: String, _ pattern: String) -> String {
        let readable = name.utf8.prefix(40).map { byte -> Character in
            let character = Character(Unicode.Scalar(byte))
            let isPlain = character.isASCII && (character.isLetter || character.isNumber || character == "-")
            return isPlain ? character : "_"
        }
        // FNV-1a, because the hash must be the same in every process.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in Array(name.utf8) + [0] + Array(pattern.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(readable) + "_" + String(hash, radix: 36)
    }
}

/// A consumer as the server describes it.
struct KnownConsumer: Decodable {
    struct Configuration: Decodable {
        var ackWait: Int64?
        var maxAckPending: Int?
        var maxDeliver: Int?
        /// The limits of one request; nil or zero for none.
        var maxBatch: Int?
        var maxBytes: Int?
        var maxExpires: Int64?
    }

    struct Position: Decodable {
        var consumerSeq: UInt64?
        var streamSeq: UInt64?
    }

    var config: Configuration?
    var delivered: Position?
    var ackFloor: Position?
    var numPending: Int?
    var numAckPending: Int?

    /// The sequence of the stream up to which everything is settled. Until something is delivered, it is the
    /// one before the consumer's first.
    var settledUpTo: UInt64 {
        (delivered?.consumerSeq == 0 ? delivered?.streamSeq : ackFloor?.streamSeq) ?? 0
    }

    /// What one request may ask for.
    var allowed: PullState.Allowed {
        func limit<Number: BinaryInteger>(_ number: Number?) -> Number? { number.flatMap { $0 > 0 ? $0 : nil } }
        return PullState.Allowed(
            messages: limit(config?.maxBatch) ?? .max,
            bytes: limit(config?.maxBytes) ?? .max,
            life: limit(config?.maxExpires).map { .nanoseconds($0) } ?? .seconds(3_600)
        )
    }

    /// How long the server waits for progress before it delivers a message again.
    var acknowledgementWait: Duration? { config?.ackWait.map { .nanoseconds($0) } }
}

extension ConsumerRequest {
    /// Describes the settings that differ at the server. The start of a consumer is not compared, because an
    /// existing one continues where it is.
    func differences(from found: KnownConsumer) -> [String] {
        var differences = SettingDifferences()
        let (found, limit) = (found.config, SettingDifferences.limit as (Int) -> String)
        differences.compare("acknowledgementWait", found?.ackWait, config.ackWait, SettingDifferences.time)
        differences.compare("pendingLimit", found?.maxAckPending, config.maxAckPending)
        differences.compare("the number of deliveries", found?.maxDeliver, config.maxDeliver, limit)
        return differences.texts
    }
}
#endif
