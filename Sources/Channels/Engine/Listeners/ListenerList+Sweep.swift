internal import Synchronization

/// Finds listeners whose owner was deallocated, without a post. Every few changes check the next few entries,
/// starting over at the end, and more often while there are clearly more entries than were alive in the last
/// round. So there are at most about a third as many dead entries as living ones, and no change pays for more
/// than a few. (A check costs a weak load and often a cache miss: two per change took a third of the time of
/// registering and cancelling among 10,000.)
extension ListenerList {
    private static let entriesPerSweep = 16
    private static let changesPerSweep: Int32 = 128
    private static let changesPerSweepWhileGrowing: Int32 = 4

    /// Counts a change, and every so often schedules a sweep. Called under the lock.
    func noteChange() {
        guard ownedCount > 0 else { return }
        changesSinceSweep += 1
        let isGrowing = ownedCount > Int(livingInLastRound) * 5 / 4 + 32
        guard changesSinceSweep >= (isGrowing ? Self.changesPerSweepWhileGrowing : Self.changesPerSweep) else { return }
        changesSinceSweep = 0
        sweepIsDue.store(true, ordering: .relaxed)
    }

    /// Removes the orphans among the next few entries.
    @inline(never)
    func sweepSome() {
        sweepIsDue.store(false, ordering: .relaxed)
        let thread = ThreadReference.current
        guard thread.pointee.slotsInUse < ThreadRecord.slotCount else { return }
        enter(thread)
        defer { leave(thread) }
        // The chain does not change under the lock. Afterwards the entries stay: the list was entered.
        var (address, count) = withLock { () -> (UInt, Int) in
            if cursor == 0 { beginRound() }
            let first = cursor
            var count = 0
            while count < Self.entriesPerSweep, let entry = Unretained<ListenerEntry>(address: cursor) {
                count += 1
                cursor = entry.borrow { $0.next.load(ordering: .relaxed) }
            }
            return (first, count)
        }
        // Without the lock: loading a weak owner retains it, and releasing it may run its deinit. Entries
        // unlinked meanwhile still lead onward; added ones are checked instead of the last ones.
        var living: Int32 = 0
        while count > 0, let entry = Unretained<ListenerEntry>(address: address) {
            entry.borrow { entry in
                address = entry.next.load(ordering: .sequentiallyConsistent)
                guard entry.hasOwner else { return }
                guard let owner = entry.retainedOwner else {
                    cancel(entry, inSweep: true)
                    return
                }
                owner.release()
                living += 1
            }
            count -= 1
        }
        withLock { livingSeen &+= living }
    }
}

extension ListenerList {
    /// Starts over at the first entry. Called under the lock.
    private func beginRound() {
        // Two simultaneous sweeps may have counted entries twice.
        livingInLastRound = min(livingSeen, Int32(clamping: ownedCount))
        livingSeen = 0
        cursor = head.load(ordering: .relaxed)
    }
}
