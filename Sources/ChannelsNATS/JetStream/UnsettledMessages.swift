#if NATS
import ChannelsBridge

/// The messages of a durable name that were delivered to this process and are not settled: the transitions,
/// without locks.
struct UnsettledMessages {
    struct Message {
        let bytes: Int
        /// When this process released the message without having settled it; nil while it can be settled.
        var released: ContinuousClock.Instant?
    }

    /// Keyed by the subject of the acknowledgement, which differs for each delivery.
    private var messages: [String: Message] = [:]
    private var lastReport = ContinuousClock.now
    /// How long the server waits for progress before it delivers a message again.
    var acknowledgementWait: Duration

    init(acknowledgementWait: Duration) {
        self.acknowledgementWait = acknowledgementWait
    }

    mutating func hold(_ reply: String, bytes: Int) {
        messages[reply] = Message(bytes: bytes)
    }

    /// Records that a message can no longer be settled. The server delivers it again after its
    /// acknowledgement wait.
    ///
    /// - Returns: The size of the message; nil if it was settled.
    mutating func letGo(_ reply: String) -> Int? {
        messages[reply]?.released = .now
        return messages[reply]?.bytes
    }

    /// Removes a message that is being settled.
    ///
    /// - Returns: The message; nil if it was already settled, or was returned to the server.
    mutating func take(_ reply: String) -> Message? { messages.removeValue(forKey: reply) }

    /// Returns the messages for which to report progress now, and when to do so next: three times per
    /// acknowledgement wait. Otherwise the server would deliver messages that are waiting here to another
    /// process, and both would handle them.
    mutating func takeOverdue(now: ContinuousClock.Instant = .now) -> ([String], next: ContinuousClock.Instant) {
        let interval = acknowledgementWait / 3
        // Allows for an inexact timer.
        guard lastReport + interval <= now + .milliseconds(10) else { return ([], lastReport + interval) }
        lastReport = now
        // By then, the server has delivered these again, with another acknowledgement subject.
        let outdated = now - acknowledgementWait
        messages = messages.filter { $0.value.released.map { $0 > outdated } ?? true }
        return (Self.ordered(messages.filter { $0.value.released == nil }.keys), now + interval)
    }

    /// Forgets all messages, because none can be settled any more.
    ///
    /// - Returns: The size of each message that could still have been settled.
    mutating func forgetAll() -> [Int] {
        defer { messages = [:] }
        return messages.values.filter { $0.released == nil }.map(\.bytes)
    }

    /// Removes and returns all messages, to be returned to the server.
    mutating func takeAll() -> [String] {
        defer { messages = [:] }
        return Self.ordered(messages.keys)
    }

    /// Sorts by sequence, because the server redelivers messages in the order in which they are reported or
    /// returned.
    private static func ordered(_ replies: some Collection<String>) -> [String] {
        replies.map { (Delivery($0)?.streamSequence ?? 0, $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
#endif
