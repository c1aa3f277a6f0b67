internal import Synchronization

// Changes of the chain. Everything here is called under the lock.
extension ListenerList {
    /// Returns the level of a rank, creating it if there is none. The index keeps it alive.
    func level(of rank: DeliveryRank) -> Unretained<PriorityLevel> {
        if let recentLevel, recentLevel.borrow({ $0.rank == rank }) { return recentLevel }
        return findLevel(of: rank)
    }

    private func findLevel(of rank: DeliveryRank) -> Unretained<PriorityLevel> {
        let level: PriorityLevel
        if let found = levels.level(of: rank) {
            level = found
        } else {
            level = PriorityLevel(rank, of: self)
            levels.insert(level)
            emptyLevelCount += 1
        }
        // The index keeps the level alive; whenever it is removed there, `recentLevel` is cleared.
        let reference = Unretained(level)
        recentLevel = reference
        return reference
    }

    /// Links an entry at the end of its level.
    func link(_ entry: ListenerEntry, into level: Unretained<PriorityLevel>) {
        // Balanced in the entry's deinit.
        level.retain()
        entry.level = level
        let number = nextNumber.load(ordering: .relaxed)
        // Changed otherwise only through the token, which does not exist yet.
        entry.setFirstNumber(number)
        // The list's own reference to the entry, released in `free`.
        let address = Unretained.retaining(entry).address
        level.borrow { level in
            let before = level.tail != 0 ? level.tail : begin(level)
            let after =
                Unretained<ListenerEntry>(address: before)?.borrow { $0.next.load(ordering: .relaxed) }
                ?? head.load(ordering: .relaxed)
            entry.previous = before
            entry.next.store(after, ordering: .relaxed)
            Unretained<ListenerEntry>(address: after)?.borrow { $0.previous = address }
            if let before = Unretained<ListenerEntry>(address: before) {
                before.borrow { $0.next.store(address, ordering: .releasing) }
            } else {
                head.store(address, ordering: .releasing)
            }
            level.tail = address
            changeCount(of: level, by: 1)
            // Stored after linking, so that a post that reads the higher number finds the entry.
            nextNumber.store(number + 1, ordering: .releasing)
        }
    }

    /// Changes the count of listeners or interceptors. A post that reads a later entry's number sees all earlier
    /// interceptors counted.
    private func changeCount(of level: PriorityLevel, by change: Int) {
        if level.rank.isInterceptor {
            interceptorCount.store(interceptorCount.load(ordering: .relaxed) + change, ordering: .releasing)
        } else {
            listenerCount.store(listenerCount.load(ordering: .relaxed) + change, ordering: .releasing)
        }
    }

    /// Begins a level with its first entry. Returns the address of the last entry of higher rank, or 0.
    private func begin(_ level: PriorityLevel) -> UInt {
        emptyLevelCount -= 1
        return head.load(ordering: .relaxed) == 0 ? 0 : lastAddress(above: level)
    }

    private func lastAddress(above level: PriorityLevel) -> UInt {
        var above = levels.level(above: level.rank)
        while let level = above, level.tail == 0 { above = levels.level(above: level.rank) }
        return above?.tail ?? 0
    }

    /// How many empty levels are kept, so that adding and removing a listener of such a rank allocates only the entry.
    private static var mostEmptyLevels: Int32 { 16 }

    private func didEmpty(_ level: PriorityLevel) {
        // A level keeps the list alive, and a list is closed only once.
        guard isClosed || emptyLevelCount >= Self.mostEmptyLevels else {
            emptyLevelCount += 1
            return
        }
        if let recentLevel, recentLevel == Unretained(level) { self.recentLevel = nil }
        levels.remove(level)
    }

    /// Unlinks an entry, which keeps its `next` for posts that are currently at it.
    func unlink(_ entry: ListenerEntry) {
        // The entry keeps the level alive.
        entry.level?.borrow { level in
            let address = entry.address
            let before = entry.previous
            let after = entry.next.load(ordering: .relaxed)
            if let before = Unretained<ListenerEntry>(address: before) {
                before.borrow { $0.next.store(after, ordering: .sequentiallyConsistent) }
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
                    didEmpty(level)
                }
            }
            entry.previous = 0
            changeCount(of: level, by: -1)
        }
    }
}
