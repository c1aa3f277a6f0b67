#if NATS
import ChannelsBridge

/// What the acknowledgement subject of a delivered message says:
/// `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>`. Some
/// servers add the domain and a hash of the account before the stream.
struct Delivery: Hashable, Sendable {
    var consumer: String
    var deliveryCount: Int
    var streamSequence: UInt64
    var consumerSequence: UInt64
    /// When the stream stored the message.
    var storedAt: Timestamp?
    /// Identifies the message by its sequence and the time at which the stream stored it, because a stream
    /// that was created again starts with the same sequences.
    var identity: String

    /// Reads an acknowledgement subject; returns nil for any other subject.
    init?(_ reply: String) {
        guard reply.hasPrefix("$JS.ACK.") else { return nil }
        // Read as bytes, which is faster, because every message has such a subject.
        var reply = reply
        guard let delivery = reply.withUTF8({ Self(UnsafeRawBufferPointer($0)) }) else { return nil }
        self = delivery
    }

    private init?(_ reply: UnsafeRawBufferPointer) {
        let tokens = reply.split(separator: UInt8(ascii: "."), maxSplits: 12, omittingEmptySubsequences: false)
        guard let first = tokens.count == 9 ? 3 : tokens.count >= 11 ? 5 : nil else { return nil }
        guard let count = UInt64(digits: tokens[first + 1]), let stream = UInt64(digits: tokens[first + 2]),
            let sequence = UInt64(digits: tokens[first + 3])
        else { return nil }
        consumer = String(decoding: tokens[first], as: UTF8.self)
        deliveryCount = max(1, Int(clamping: count))
        streamSequence = stream
        consumerSequence = sequence
        let time = tokens[first + 4]
        storedAt = UInt64(digits: time).map { Timestamp(secondsSince1970: Double($0) / 1_000_000_000) }
        identity = "\(stream) \(String(decoding: time, as: UTF8.self))"
    }
}

extension UInt64 {
    /// The value of up to 19 decimal digits.
    init?(digits: some Collection<UInt8>) {
        guard (1...19).contains(digits.count) else { return nil }
        self = 0
        for byte in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            self = self * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
    }
}
#endif
