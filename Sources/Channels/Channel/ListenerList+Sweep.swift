internal import Synchronization

/// Listeners whose owner has gone are found without a post: every few changes look at a few entries, going round, more often while there
/// are clearly more entries than lived in the last round. So at most about a third as many dead ones stand beside those that live, and no
/// single change pays for more than a few. (A look costs a weak load, and among many listeners misses the cache: two for each change were
/// a third of the time of registering and cancelling beside 10,000.)
extension ListenerList {
    private static let entriesPerSweep = 16
    private static let changesPerSweep: Int32 = 32
    private static let changesPerSweepWhileGrowing: Int32 = 4

    /// Whether this change is one that sweeps. Under the lock.
    func changeCallsForSweep() -> Bool {
        guard ownedCount > 0 else { return false }
        changesSinceSweep += 1
        let isGrowing = ownedCount > Int(livingInLastRound) * 5 / 4 + 32
        guard changesSinceSweep >= (isGrowing ? Self.changesPerSweepWhileGrowing : Self.changesPerSweep) else { return false }
        changesSinceSweep = 0
        return true
    }

    /// Removes the orphans among the next few entries.
    @inline(never)
    func sweepSome() {
        let thread = ThreadRecord.current
        guard thread.pointee.depth < ThreadRecord.slotCount else { return }
        enter(thread)
        defer { leave(thread) }
        withUnsafeTemporaryAllocation(of: Unmanaged<ListenerEntry>.self, capacity: Self.entriesPerSweep) { found in
            var count = 0
            withLock {
                // Under the lock the chain does not change; after it the entries stay because the list has been entered.
                if cursor == 0 { cursor = nextChainToSweep() }
                while count < Self.entriesPerSweep, let entry = Unmanaged<ListenerEntry>.at(cursor) {
                    found[count] = entry
                    count += 1
                    cursor = entry._withUnsafeGuaranteedRef { $0.next.load(ordering: .relaxed) }
                }
            }
            // Looking at a weak owner holds it for a moment, and letting go may run its deinit: not under the lock.
            var living: Int32 = 0
            for entry in found[..<count] {
                entry._withUnsafeGuaranteedRef { entry in
                    guard entry.hasOwner else { return }
                    if entry.owner == nil { remove(entry, inSweep: true) } else { living += 1 }
                }
            }
            withLock { livingSeen &+= living }
        }
    }
}

extension ListenerList {
    /// Where the search goes on after the end of a chain. Under the lock.
    private func nextChainToSweep() -> UInt {
        sweepsInterceptors.toggle()
        if sweepsInterceptors {
            // A round has ended, here or where the last entry was taken out. Two sweeps at once, or entries that moved, may have been counted twice.
            livingInLastRound = min(livingSeen, Int32(clamping: ownedCount))
            livingSeen = 0
            let first = interceptorHead.load(ordering: .relaxed)
            if first != 0 { return first }
            sweepsInterceptors = false
        }
        return head.load(ordering: .relaxed)
    }
}

extension ListenerEntry {
    /// Whether the owner has gone.
    var isOrphan: Bool {
        word.load(ordering: .relaxed) & Self.owned != 0 && owner == nil
    }
}
