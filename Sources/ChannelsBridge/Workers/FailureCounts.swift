internal import Channels

/// How often durable messages could not be handled, by what identifies the message: apart for each reason.
///
/// It remembers at least the last `limit` messages that were counted, and at most twice as many: one that
/// another process of the name has handled since is never asked for again.
struct FailureCounts: Sendable {
    /// Why a message could not be handled.
    enum Reason { case listeners, decoding }

    private struct Counts {
        var listeners = 0
        var decoding = 0

        subscript(reason: Reason) -> Int {
            get { reason == .listeners ? listeners : decoding }
            set { if reason == .listeners { listeners = newValue } else { decoding = newValue } }
        }
    }

    private let limit: Int
    private var recent: [KeyedHash.Digest: Counts] = [:]
    private var older: [KeyedHash.Digest: Counts] = [:]

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        require(limit > 0, "counts of \(limit) messages are none")
        self.limit = limit
    }

    /// Adds failures to those of a message for a reason, and returns how many there are.
    mutating func add(_ failures: Int, of reason: Reason, to message: KeyedHash.Digest) -> Int {
        var counts = recent[message] ?? older[message] ?? Counts()
        counts[reason] += failures
        if recent[message] == nil, recent.count >= limit { (older, recent) = (recent, [:]) }
        recent[message] = counts
        return counts[reason]
    }

    /// Whether a message was counted, and has not been forgotten.
    func contains(_ message: KeyedHash.Digest) -> Bool { recent[message] != nil || older[message] != nil }

    /// The message will not come again.
    mutating func forget(_ message: KeyedHash.Digest) {
        recent[message] = nil
        older[message] = nil
    }
}
