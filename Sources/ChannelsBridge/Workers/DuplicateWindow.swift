/// Remembers the last identifiers, up to a number, to tell what comes twice.
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

    /// Remembers an identifier and forgets the oldest where there are too many.
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
