/// The last messages, up to a limit, by which duplicates are recognised.
///
/// A message is remembered by a digest, so that the window takes up 32 to 64 bytes for each, however long the
/// texts of a peer are.
struct DuplicateWindow: Sendable {
    private let limit: Int
    private var known: Set<KeyedHash.Digest> = []
    private var order: [KeyedHash.Digest] = []
    private var oldest = 0

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        precondition(limit > 0, "a window of \(limit) identifiers remembers nothing")
        self.limit = limit
    }

    func contains(_ message: KeyedHash.Digest) -> Bool { known.contains(message) }

    /// Adds a message, and removes the oldest one if the limit is reached.
    ///
    /// - Returns: Whether it was new.
    @discardableResult
    mutating func insert(_ message: KeyedHash.Digest) -> Bool {
        guard known.insert(message).inserted else { return false }
        if order.count < limit {
            order.append(message)
        } else {
            known.remove(order[oldest])
            order[oldest] = message
            oldest = (oldest + 1) % limit
        }
        return true
    }
}
