/// The levels of a list from the highest rank to the lowest, in short runs: a level is found in O(log *n*) and
/// inserted or removed in about constant time.
struct PriorityIndex {
    /// No run is empty. Ranks descend within and across runs.
    private var runs: [[PriorityLevel]] = []
    private static let longestRun = 64

    /// The position of the first level whose rank is at most the given one.
    private func position(of rank: DeliveryRank) -> (run: Int, offset: Int) {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle][runs[middle].count - 1].rank > rank { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count else { return (low, 0) }
        let run = low
        low = 0
        high = runs[run].count
        while low < high {
            let middle = (low + high) / 2
            if runs[run][middle].rank > rank { low = middle + 1 } else { high = middle }
        }
        return (run, low)
    }

    /// The level of a rank.
    func level(of rank: DeliveryRank) -> PriorityLevel? {
        let (run, offset) = position(of: rank)
        guard run < runs.count, runs[run][offset].rank == rank else { return nil }
        return runs[run][offset]
    }

    /// The level of the next higher rank.
    func level(above rank: DeliveryRank) -> PriorityLevel? {
        let (run, offset) = position(of: rank)
        if offset > 0 { return runs[run][offset - 1] }
        return run > 0 ? runs[run - 1].last : nil
    }

    /// Inserts a level. There must be none of its rank.
    mutating func insert(_ level: PriorityLevel) {
        var (run, offset) = position(of: level.rank)
        if run == runs.count {
            guard run > 0 else {
                runs.append([level])
                return
            }
            run -= 1
            offset = runs[run].count
        }
        runs[run].insert(level, at: offset)
        if runs[run].count > Self.longestRun {
            let upper = Array(runs[run][(Self.longestRun / 2)...])
            runs[run].removeSubrange((Self.longestRun / 2)...)
            runs.insert(upper, at: run + 1)
        }
    }

    /// Removes a level, if it is in the index.
    mutating func remove(_ level: PriorityLevel) {
        let (run, offset) = position(of: level.rank)
        guard run < runs.count, runs[run][offset] === level else { return }
        if runs[run].count == 1 {
            runs.remove(at: run)
        } else {
            runs[run].remove(at: offset)
        }
    }

    /// Removes every empty level.
    mutating func removeEmpty() {
        for run in runs.indices.reversed() {
            runs[run].removeAll { $0.tail == 0 }
            if runs[run].isEmpty { runs.remove(at: run) }
        }
    }
}
