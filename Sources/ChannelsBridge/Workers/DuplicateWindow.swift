/// The last identifiers, up to a limit, by which duplicates are recognised.
struct DuplicateWindow: Sendable {
    private let limit: Int
    private var known: Set<String> = []
    private var order: [String] = []
    private var oldest = 0

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        precondition(limit > 0, "a window of \(limit) identifiers remembers nothing")
        self.limit = limit
    }

    func contains(_ id: String) -> Bool { known.contains(id) }

    /// Adds an identifier, and removes the oldest one if the limit is reached.
    ///
    /// - Returns: Whether it was new.
    @discardableResult
    mutating func insert(_ id: String) -> Bool {
        guard known.insert(id).inserted else { return false }
        if order.count < limit {
            order.append(id)
        } else {
            known.remove(order[oldest])
            order[oldest] = id
            oldest = (oldest + 1) % limit
        }
        return true
    }
}
