internal import Channels

/// How often the listeners of durable messages have failed, by what identifies the message.
///
/// It remembers at least the last `limit` messages that were counted, and at most twice as many: one that
/// another process of the name has handled since is never asked for again.
struct FailureCounts: Sendable {
    private let limit: Int
    private var recent: [MessageKey: Int] = [:]
    private var older: [MessageKey: Int] = [:]

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        require(limit > 0, "counts of \(limit) messages are none")
        self.limit = limit
    }

    /// Adds failures to those of a message, and returns how many there are.
    @discardableResult
    mutating func add(_ failures: Int, to message: MessageKey) -> Int {
        let count = (recent[message] ?? older[message] ?? 0) + failures
        if recent[message] == nil, recent.count >= limit { (older, recent) = (recent, [:]) }
        recent[message] = count
        return count
    }

    /// Whether a message was counted, and has not been forgotten.
    func contains(_ message: MessageKey) -> Bool { recent[message] != nil || older[message] != nil }

    /// The message will not come again.
    mutating func forget(_ message: MessageKey) {
        recent[message] = nil
        older[message] = nil
    }
}
