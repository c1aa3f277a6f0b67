internal import Synchronization

/// Listeners whose owner has gone are found without a post: every few changes look at twice as many entries, going round. However many
/// listeners live, at most about as many dead ones stand beside them, and no single change pays for more than a few.
extension ListenerList {
    private static let changesPerSweep = 8
    private static let entriesPerSweep = 16

    /// Whether this change is one that sweeps. Under the lock.
    func changeCallsForSweep() -> Bool {
        guard ownedCount > 0 else { return false }
        changesSinceSweep += 1
        guard changesSinceSweep >= Self.changesPerSweep else { return false }
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
                if cursor == 0 { sweepsInterceptors.toggle() }
                let start = sweepsInterceptors ? interceptorHead.load(ordering: .relaxed) : head.load(ordering: .relaxed)
                if cursor == 0 { cursor = start }
                while count < Self.entriesPerSweep, let entry = Unmanaged<ListenerEntry>.at(cursor) {
                    found[count] = entry
                    count += 1
                    cursor = entry._withUnsafeGuaranteedRef { $0.next.load(ordering: .relaxed) }
                }
            }
            // Looking at a weak owner holds it for a moment, and letting go may run its deinit: not under the lock.
            for entry in found[..<count] {
                entry._withUnsafeGuaranteedRef { if $0.isOrphan { _ = remove($0, inSweep: true) } }
            }
        }
    }
}

extension ListenerEntry {
    /// Whether the owner has gone.
    var isOrphan: Bool {
        word.load(ordering: .relaxed) & Self.owned != 0 && owner == nil
    }
}
