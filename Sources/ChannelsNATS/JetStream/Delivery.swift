#if NATS
import ChannelsBridge

/// The contents of the acknowledgement subject of a message that JetStream delivers:
/// `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence in the stream>.<sequence of the
/// consumer>.<time>.<pending>`, from some servers with the domain and a hash of the account before the
/// stream.
struct Delivery: Hashable, Sendable {
    var consumer: String
    var deliveryCount: Int
    var streamSequence: UInt64
    var consumerSequence: UInt64
    /// When the stream stored the message.
    var storedAt: Timestamp?
    /// Identifies the message: its sequence, and when the stream stored it. A stream that was created again
    /// begins with the same sequences.
    var identity: String

    /// Returns nil for any other subject.
    init?(_ reply: String) {
        guard reply.hasPrefix("$JS.ACK.") else { return nil }
        let tokens = reply.split(separator: ".", omittingEmptySubsequences: false)
        guard let first = tokens.count == 9 ? 3 : tokens.count >= 11 ? 5 : nil else { return nil }
        guard let count = Int(tokens[first + 1]), let stream = UInt64(tokens[first + 2]),
            let sequence = UInt64(tokens[first + 3])
        else { return nil }
        consumer = String(tokens[first])
        deliveryCount = max(1, count)
        streamSequence = stream
        consumerSequence = sequence
        storedAt = Double(tokens[first + 4]).map { Timestamp(secondsSince1970: $0 / 1_000_000_000) }
        identity = "\(stream) \(tokens[first + 4])"
    }
}
#endif
