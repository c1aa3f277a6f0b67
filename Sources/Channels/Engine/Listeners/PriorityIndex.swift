/// The levels of a list by descending rank: O(log *n*) to find one, O(*n*) to insert or remove one.
struct PriorityIndex {
    private var levels: [PriorityLevel] = []

    /// The position of the first level whose rank is at most the given one.
    private func position(of rank: DeliveryRank) -> Int {
        var low = 0
        var high = levels.count
        while low < high {
            let middle = (low + high) / 2
            if levels[middle].rank > rank { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func level(of rank: DeliveryRank) -> PriorityLevel? {
        let position = position(of: rank)
        return position < levels.count && levels[position].rank == rank ? levels[position] : nil
    }

    func level(above rank: DeliveryRank) -> PriorityLevel? {
        let position = position(of: rank)
        return position > 0 ? levels[position - 1] : nil
    }

    /// Inserts a level. There must be none of its rank.
    mutating func insert(_ level: PriorityLevel) { levels.insert(level, at: position(of: level.rank)) }

    mutating func remove(_ level: PriorityLevel) {
        let position = position(of: level.rank)
        if position < levels.count, levels[position] === level { levels.remove(at: position) }
    }

    mutating func removeEmpty() { levels.removeAll { $0.tail == 0 } }
}
