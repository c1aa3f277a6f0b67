#if NATS
import ChannelsBridge

/// The request that creates a durable consumer, from which all processes with its name fetch messages.
struct ConsumerRequest: Encodable, Sendable {
    /// The stream that stores the subjects, once it is known.
    var streamName: String
    private(set) var config: ServerSettings
    /// The name of the consumer, and the pattern of the subjects that it delivers.
    private(set) var consumer, pattern: String

    private enum CodingKeys: String, CodingKey { case streamName, config }

    init(
        name: String,
        pattern: String,
        from start: ReplayStart?,
        _ deliveries: NATSConfiguration.Deliveries
    ) {
        (streamName, self.pattern, consumer) = ("", pattern, Self.consumerName(name, pattern))
        config = ServerSettings([
            "durable_name": .text(consumer),
            "deliver_policy": .text("all"),
            "filter_subject": .text(pattern),
            "ack_policy": .text("explicit"),
            "ack_wait": .number(deliveries.acknowledgementWait.nanoseconds),
            // No limit, because the server also counts deliveries to processes that were killed, and would
            // silently stop delivering the message.
            "max_deliver": .number(-1),
            "max_ack_pending": .number(Int64(deliveries.pendingLimit)),
            "replay_policy": .text("instant"),
        ])
        // After how long without a subscriber the server deletes it.
        if deliveries.isTemporary {
            config.values["inactive_threshold"] = .number(Duration.seconds(300).nanoseconds)
        }
        switch (start ?? .beginning).position {
        case .beginning: break
        case .new: config.values["deliver_policy"] = .text("new")
        case .sequence(let number): self = beginning(with: max(1, number))
        case .time(let seconds):
            config.values["deliver_policy"] = .text("by_start_time")
            config.values["opt_start_time"] = .text(Timestamp(secondsSince1970: seconds).text)
        }
    }

    /// Whether the consumer begins with what is stored after it was created.
    var beginsWithNew: Bool { config.values["deliver_policy"] == .text("new") }

    /// The sequence number with which the consumer begins, if it begins with one.
    var firstSequence: Int64? { config.number("opt_start_seq") }

    /// Returns this request for a consumer that begins with a sequence number of the stream.
    func beginning(with sequence: UInt64) -> ConsumerRequest {
        var request = self
        request.config.values["deliver_policy"] = .text("by_start_sequence")
        request.config.values["opt_start_seq"] = .number(Int64(clamping: sequence))
        request.config.values["opt_start_time"] = nil
        return request
    }

    /// Returns the name of a consumer: one segment of letters, digits, `-` and `_`. A hash tells different
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
    struct Position: Decodable {
        var consumerSeq: UInt64?
        var streamSeq: UInt64?
    }

    var config: ServerSettings
    var delivered: Position?
    var ackFloor: Position?
    var numPending: Int?
    var numAckPending: Int?

    /// The sequence of the stream up to which everything is settled. Until something is delivered, it is the
    /// one before the consumer's first.
    var settledUpTo: UInt64 {
        (delivered?.consumerSeq == 0 ? delivered?.streamSeq : ackFloor?.streamSeq) ?? 0
    }

    /// How long the server waits for progress before it delivers a message again.
    var acknowledgementWait: Duration? { config.number("ack_wait").map { .nanoseconds($0) } }
}

extension ConsumerRequest {
    /// What happens with the settings of a consumer with which it cannot be used.
    private static let harms: [String: String] = {
        let deaf = "messages would not be received"
        let refused = "the server would refuse requests of this size"
        return [
            "ack_policy": "what a process has not handled when it ends would be lost",
            "max_deliver": "the server would stop delivering a message that nobody has handled",
            "headers_only": "messages would be received without their bodies",
            "inactive_threshold": "the server would delete the durable name while no process runs",
            "filter_subject": deaf, "filter_subjects": deaf, "deliver_subject": deaf, "priority_groups": deaf,
            "max_batch": "\(refused); lower prefetchLimit", "max_bytes": "\(refused); lower prefetchByteLimit",
            "max_expires": "the server would refuse requests",
        ]
    }()

    /// Describes the settings that differ at the server: the first with which the consumer cannot be used, and
    /// the others. The start of a consumer is not compared, because an existing one continues where it is.
    ///
    /// - Parameter largest: The most that this process requests at once.
    func differences(
        from found: ServerSettings,
        requesting largest: (messages: Int, bytes: Int)
    ) -> (harm: String?, harmless: [String]) {
        var wanted = config
        // The limits of one request.
        for (name, needed) in [
            ("max_batch", Int64(largest.messages)), ("max_bytes", Int64(largest.bytes)),
            ("max_expires", PullState.requestLife.nanoseconds),
        ] { if let limit = found.number(name) { wanted.values[name] = .number(limit > 0 ? max(limit, needed) : 0) } }
        return wanted.differences(from: found, harms: Self.harms)
    }
}
#endif
