internal import Channels

/// The last messages, up to a limit, by which duplicates are recognised.
///
/// A message is remembered by a hash, so that the window takes up no more than 80 bytes for each, however long the
/// texts of a peer are.
struct DuplicateWindow: Sendable {
    private let limit: Int
    /// The lowest number with which each was inserted.
    private var known: [MessageKey: UInt64] = [:]
    private var order: [MessageKey] = []
    private var oldest = 0

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        require(limit > 0, "a window of \(limit) identifiers remembers nothing")
        self.limit = limit
    }

    /// Whether a message was inserted, and has no number or one that is not higher.
    ///
    /// - Parameter number: Where the message is in its stream, if it has a number there.
    func contains(_ message: MessageKey, number: UInt64? = nil) -> Bool {
        guard let first = known[message] else { return false }
        return number.map { $0 >= first } ?? true
    }

    /// Adds a message, and removes the oldest one if the limit is reached.
    ///
    /// - Returns: Whether it was new.
    @discardableResult
    mutating func insert(_ message: MessageKey, number: UInt64? = nil) -> Bool {
        let number = number ?? 0
        if let first = known[message] {
            if number < first { known[message] = number }
            return false
        }
        known[message] = number
        if order.count < limit {
            order.append(message)
        } else {
            known[order[oldest]] = nil
            order[oldest] = message
            oldest = (oldest + 1) % limit
        }
        return true
    }
}
