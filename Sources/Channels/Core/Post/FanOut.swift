/// Bounds what waits because of one post, whatever its shape.
///
/// A chain of posts is bounded by its depth. Two listeners that each post again stay below every limit of
/// depth and would never end: 2^64 posts. So what waits down such a tree is bounded in number, too, the more
/// strictly the deeper it is. What a listener posts because of the first message costs nothing, however many
/// messages it posts.
struct FanOut {
    /// What a post costs, by how many posts led to it, itself included.
    static func cost(ofDepth depth: Int) -> Int { depth < 3 ? 0 : 1 << min(depth - 3, 6) }

    /// What those that wait may cost: a million at the third level, 16,384 from the ninth on.
    private let most: Int
    private var cost = 0
    /// Whether too many wait, or did, of which not all have been delivered.
    private(set) var isExhausted = false
    /// How many have been refused since there were too many.
    private(set) var refused = 0

    init(most: Int = 1 << 20) { self.most = most }

    /// Whether one more post may wait. Once there are too many, only those made outside of any other may, until every
    /// post that costs something has been delivered.
    mutating func hasRoom(depth: Int) -> Bool {
        if cost + Self.cost(ofDepth: depth) > most { exhaust() }
        guard isExhausted, depth > 1 else { return true }
        refused += 1
        return false
    }

    /// Whether none of those that wait costs anything.
    var isFree: Bool { cost == 0 }

    /// Counts one more post that is to wait, whether or not there is room for it.
    mutating func add(depth: Int) {
        cost += Self.cost(ofDepth: depth)
        if cost > most { exhaust() }
    }

    /// Refuses posts that follow from others, until ``recoverIfFree()`` finds that none costs anything.
    mutating func exhaust() {
        guard !isExhausted else { return }
        isExhausted = true
        refused = 0
    }

    /// So many posts that were counted have been taken out. ``recoverIfFree()`` follows when they have been delivered.
    mutating func remove(_ count: Int, depth: Int) { cost -= count * Self.cost(ofDepth: depth) }

    /// All posts that were taken out have been delivered: if no other costs anything, there is room again.
    mutating func recoverIfFree() { if cost == 0 { isExhausted = false } }

    /// A post that was counted is delivered. There is room again with one that follows from no other, if none that
    /// waits costs anything.
    mutating func deliver(depth: Int) {
        remove(1, depth: depth)
        if depth == 1 { recoverIfFree() }
    }
}
