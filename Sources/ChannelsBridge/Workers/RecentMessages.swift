internal import Channels

/// Remembers a fact about the latest messages, such as how often they failed: at least the last `limit`, at
/// most twice as many.
///
/// A message is remembered by a hash, so that it takes up the same few bytes however long the texts of a peer
/// are.
struct RecentMessages<Fact: Sendable>: Sendable {
    private let limit: Int
    private var recent: [MessageKey: Fact] = [:]
    private var older: [MessageKey: Fact] = [:]

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        require(limit > 0, "defect of swift-channels: a window of \(limit) messages is not positive")
        self.limit = limit
    }

    subscript(message: MessageKey) -> Fact? {
        get { recent[message] ?? older[message] }
        set {
            if newValue == nil { older[message] = nil }
            if newValue != nil, recent[message] == nil, recent.count >= limit { (older, recent) = (recent, [:]) }
            recent[message] = newValue
        }
    }
}

/// Messages with the lowest number that each has had in its stream.
extension RecentMessages<UInt64> {
    /// Whether a message was added, and has no number or one that is not higher.
    ///
    /// - Parameter number: Where the message is in its stream, if it has a number there.
    func contains(_ message: MessageKey, number: UInt64?) -> Bool {
        guard let first = self[message] else { return false }
        return number.map { $0 >= first } ?? true
    }

    mutating func add(_ message: MessageKey, number: UInt64?) {
        self[message] = min(self[message] ?? .max, number ?? 0)
    }
}
