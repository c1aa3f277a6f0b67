#if NATS
import ChannelsBridge

/// The messages of a durable name that were delivered to this process and not settled: the transitions, without locks.
struct UnsettledMessages {
    struct Message {
        let bytes: Int
        /// When this process let go of it without having settled it; nil while it can be settled.
        var released: ContinuousClock.Instant?
    }

    /// Keyed by the subject of the acknowledgement, which differs for each delivery.
    private var messages: [String: Message] = [:]
    private var lastReport = ContinuousClock.now
    /// How long the server waits for a sign of life before it delivers a message again.
    var acknowledgementWait: Duration

    init(acknowledgementWait: Duration) {
        self.acknowledgementWait = acknowledgementWait
    }

    mutating func hold(_ reply: String, bytes: Int) {
        messages[reply] = Message(bytes: bytes)
    }

    /// The message can no longer be settled: the server delivers it again after its acknowledgement wait.
    ///
    /// - Returns: Its bytes; nil if it was settled.
    mutating func letGo(_ reply: String) -> Int? {
        messages[reply]?.released = .now
        return messages[reply]?.bytes
    }

    /// The message is settled.
    ///
    /// - Returns: Nil if it was before, or the server has it again.
    mutating func take(_ reply: String) -> Message? { messages.removeValue(forKey: reply) }

    /// The messages of which progress is to be reported now, three times in the acknowledgement wait, and when to do so
    /// next. Otherwise the server would deliver messages that are waiting here to another process, and both would
    /// handle them.
    mutating func takeOverdue(now: ContinuousClock.Instant = .now) -> ([String], next: ContinuousClock.Instant) {
        let interval = acknowledgementWait / 3
        // A timer is not exact.
        guard lastReport + interval <= now + .milliseconds(10) else { return ([], lastReport + interval) }
        lastReport = now
        // The server has delivered it again since, with another subject.
        let outdated = now - acknowledgementWait
        messages = messages.filter { $0.value.released.map { $0 > outdated } ?? true }
        return (Self.ordered(messages.filter { $0.value.released == nil }.keys), now + interval)
    }

    /// None of them can be settled any more.
    ///
    /// - Returns: The bytes of each that could be.
    mutating func forgetAll() -> [Int] {
        defer { messages = [:] }
        return messages.values.filter { $0.released == nil }.map(\.bytes)
    }

    /// All of them, which the server has again.
    mutating func takeAll() -> [String] {
        defer { messages = [:] }
        return Self.ordered(messages.keys)
    }

    /// In order: the server delivers them again as their waits end, or as they come back.
    private static func ordered(_ replies: some Collection<String>) -> [String] {
        replies.map { (Delivery($0)?.streamSequence ?? 0, $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
#endif
