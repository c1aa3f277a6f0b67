internal import Synchronization

// The chains themselves. Everything here is called under the lock.
extension ListenerList {
    /// The level of a priority, kept alive by its index.
    @inline(__always)
    func level(of priority: Int, forInterceptors: Bool) -> Unretained<PriorityLevel> {
        if let recentLevel, recentLevel.borrow({ $0.priority == priority && $0.isForInterceptors == forInterceptors }) {
            return recentLevel
        }
        return findLevel(of: priority, forInterceptors: forInterceptors)
    }

    @inline(never)
    private func findLevel(of priority: Int, forInterceptors: Bool) -> Unretained<PriorityLevel> {
        let level: PriorityLevel
        if let found = forInterceptors ? interceptorLevels.level(of: priority) : levels.level(of: priority) {
            level = found
        } else {
            level = PriorityLevel(priority: priority, list: self, isForInterceptors: forInterceptors)
            if forInterceptors { interceptorLevels.insert(level) } else { levels.insert(level) }
            emptyLevelCount += 1
        }
        // Its index keeps it; removing it there clears `recentLevel`.
        let reference = Unretained(level)
        recentLevel = reference
        return reference
    }

    /// Links an entry after the others of its level.
    func link(_ entry: ListenerEntry, into level: Unretained<PriorityLevel>) {
        // Released in the entry's deinit.
        level.retain()
        entry.level = level
        let number = nextNumber.load(ordering: .relaxed)
        // Bits above the number are only set through the token, which does not exist yet.
        entry.word.store(entry.word.load(ordering: .relaxed) | number, ordering: .relaxed)
        // The list's reference; released in `RetiredEntries.Chain.free`.
        let address = Unretained.retaining(entry).address
        level.borrow { level in
            let before = level.tail != 0 ? level.tail : begin(level)
            let after =
                Unretained<ListenerEntry>(address: before)?.borrow { $0.next.load(ordering: .relaxed) }
                ?? firstAddress(in: level)
            entry.previous = before
            entry.next.store(after, ordering: .relaxed)
            Unretained<ListenerEntry>(address: after)?.borrow { $0.previous = address }
            if let before = Unretained<ListenerEntry>(address: before) {
                before.borrow { $0.next.store(address, ordering: .releasing) }
            } else if level.isForInterceptors {
                interceptorHead.store(address, ordering: .releasing)
            } else {
                head.store(address, ordering: .releasing)
            }
            level.tail = address
            // After linking: a post that reads the higher number finds the entry.
            nextNumber.store(number + 1, ordering: .releasing)
            if !level.isForInterceptors { changeListenerCount(by: 1) }
        }
    }

    @inline(__always)
    private func changeListenerCount(by change: Int) {
        listenerCount.store(listenerCount.load(ordering: .relaxed) + change, ordering: .releasing)
    }

    private func firstAddress(in level: PriorityLevel) -> UInt {
        level.isForInterceptors ? interceptorHead.load(ordering: .relaxed) : head.load(ordering: .relaxed)
    }

    /// Called before the first entry of a level is linked.
    ///
    /// - Returns: The address of the last entry of the next higher priority, or 0.
    @inline(__always)
    private func begin(_ level: PriorityLevel) -> UInt {
        emptyLevelCount -= 1
        return firstAddress(in: level) == 0 ? 0 : lastAddress(above: level)
    }

    @inline(never)
    private func lastAddress(above level: PriorityLevel) -> UInt {
        func next(above priority: Int) -> PriorityLevel? {
            level.isForInterceptors ? interceptorLevels.level(above: priority) : levels.level(above: priority)
        }
        // Few levels are empty.
        var above = next(above: level.priority)
        while let level = above, level.tail == 0 { above = next(above: level.priority) }
        return above?.tail ?? 0
    }

    /// So many empty levels are kept for the next listener of their priority, so that one that is added and
    /// removed allocates nothing but itself.
    private static var mostEmptyLevels: Int32 { 16 }

    private func levelIsEmpty(_ level: PriorityLevel) {
        // A level keeps the list, and a list is closed only once.
        guard isClosed || emptyLevelCount >= Self.mostEmptyLevels else {
            emptyLevelCount += 1
            return
        }
        if let recentLevel, recentLevel == Unretained(level) { self.recentLevel = nil }
        if level.isForInterceptors { interceptorLevels.remove(level) } else { levels.remove(level) }
    }

    /// Unlinks an entry. It keeps its `next`, for posts that are at it.
    func unlink(_ entry: ListenerEntry) {
        // The entry keeps the level.
        entry.level?.borrow { level in
            let address = entry.address
            let before = entry.previous
            let after = entry.next.load(ordering: .relaxed)
            if let before = Unretained<ListenerEntry>(address: before) {
                before.borrow { $0.next.store(after, ordering: .sequentiallyConsistent) }
            } else if level.isForInterceptors {
                interceptorHead.store(after, ordering: .sequentiallyConsistent)
            } else {
                head.store(after, ordering: .sequentiallyConsistent)
            }
            Unretained<ListenerEntry>(address: after)?.borrow { $0.previous = before }
            if cursor == address { cursor = after }
            if level.tail == address {
                let hasNeighbour = Unretained<ListenerEntry>(address: before)?.borrow {
                    $0.level?.address == entry.level?.address
                }
                if hasNeighbour == true {
                    level.tail = before
                } else {
                    level.tail = 0
                    levelIsEmpty(level)
                }
            }
            entry.previous = 0
            if !level.isForInterceptors { changeListenerCount(by: -1) }
        }
    }
}
