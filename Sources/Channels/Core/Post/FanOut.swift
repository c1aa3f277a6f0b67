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

    /// Whether one more post may wait. Once there are too many, no post that follows from another may, until
    /// all that cost something have been delivered: see ``delivers(depth:)`` and ``recoversIfFree()``.
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

    /// From here on there is no room.
    mutating func exhaust() {
        guard !isExhausted else { return }
        isExhausted = true
        refused = 0
    }

    /// So many posts that were counted have been taken out. ``recoversIfFree()`` follows when they have been delivered.
    mutating func remove(_ count: Int, depth: Int) { cost -= count * Self.cost(ofDepth: depth) }

    /// All posts that were taken out have been delivered: if no other costs anything, there is room again.
    mutating func recoversIfFree() { if cost == 0 { isExhausted = false } }

    /// A post that was counted has been taken out. There is room again once all have been, and one that follows from
    /// no other.
    mutating func delivers(depth: Int) {
        cost -= Self.cost(ofDepth: depth)
        if depth == 1, cost == 0 { isExhausted = false }
    }
}
