/// The listeners of one priority in one chain, and where the last of them stands.
///
/// Guarded by the lock of the list it belongs to, but for the constants.
final class Lane: @unchecked Sendable {
    let priority: Int
    let list: ListenerList
    let isForInterceptors: Bool
    /// The address of the last listener of this lane, or 0. The list holds it.
    @exclusivity(unchecked) var tail: UInt = 0
    /// Whether it is in its index.
    @exclusivity(unchecked) var isIndexed = false

    init(priority: Int, list: ListenerList, isForInterceptors: Bool) {
        self.priority = priority
        self.list = list
        self.isForInterceptors = isForInterceptors
    }
}

/// The lanes of a chain from the highest priority to the lowest, in short runs, so that a lane is found in O(log *n*) and put in or taken
/// out in about constant time however many priorities there are.
struct PriorityIndex {
    /// No run is empty. Within and across runs the priorities fall.
    private var runs: [[Lane]] = []
    private static let longestRun = 64

    /// Where the first lane stands whose priority is at most the given one.
    private func position(of priority: Int) -> (run: Int, offset: Int) {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle][runs[middle].count - 1].priority > priority { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count else { return (low, 0) }
        let run = low
        low = 0
        high = runs[run].count
        while low < high {
            let middle = (low + high) / 2
            if runs[run][middle].priority > priority { low = middle + 1 } else { high = middle }
        }
        return (run, low)
    }

    /// The lane of a priority.
    func lane(of priority: Int) -> Lane? {
        let (run, offset) = position(of: priority)
        guard run < runs.count, runs[run][offset].priority == priority else { return nil }
        return runs[run][offset]
    }

    /// The lane of the next higher priority.
    func lane(above priority: Int) -> Lane? {
        let (run, offset) = position(of: priority)
        if offset > 0 { return runs[run][offset - 1] }
        return run > 0 ? runs[run - 1].last : nil
    }

    /// Puts a lane in. There must be none of its priority.
    mutating func insert(_ lane: Lane) {
        var (run, offset) = position(of: lane.priority)
        if run == runs.count {
            guard run > 0 else {
                runs.append([lane])
                return
            }
            run -= 1
            offset = runs[run].count
        }
        runs[run].insert(lane, at: offset)
        if runs[run].count > Self.longestRun {
            let upper = Array(runs[run][(Self.longestRun / 2)...])
            runs[run].removeSubrange((Self.longestRun / 2)...)
            runs.insert(upper, at: run + 1)
        }
    }

    /// Takes a lane out, if it is in.
    mutating func remove(_ lane: Lane) {
        let (run, offset) = position(of: lane.priority)
        guard run < runs.count, runs[run][offset] === lane else { return }
        if runs[run].count == 1 {
            runs.remove(at: run)
        } else {
            runs[run].remove(at: offset)
        }
    }

    /// Takes out every lane in which nobody is.
    mutating func removeEmpty() {
        for run in runs.indices.reversed() {
            for lane in runs[run] where lane.tail == 0 { lane.isIndexed = false }
            runs[run].removeAll { !$0.isIndexed }
            if runs[run].isEmpty { runs.remove(at: run) }
        }
    }
}
