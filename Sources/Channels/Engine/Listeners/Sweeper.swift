internal import Synchronization

/// Finds listeners whose owner was deallocated, without a post: one for the process.
///
/// Each registration of a listener with an owner pays for a few looks at others (`ThreadRecord.sweepDebt`): half of them
/// in its own list, the others in those of all lists in turn, from where the last look ended. So there are about as many
/// dead entries as living ones at most, whichever lists they are in, and no change pays for more than a few.
///
/// A look holds the owner for a moment, whose deinit may then run on this thread. So a thread looks only into lists that
/// it has used, or one of its group: what belongs to the main thread is left to it.
final class Sweeper: Sendable {
    static let shared = Sweeper()

    private struct WeakList { weak var list: ListenerList? }

    private struct State {
        var lists: [WeakList] = []
        var next = 0
    }

    private static let entriesPerSweep = 16
    private static let entriesOfOwnList = 8

    /// No list is searched under the lock.
    private let state = Locked(State(), spins: true)

    /// Adds a list that has its first listener with an owner. Runs no user code.
    func add(_ list: ListenerList) {
        list.readers.bitwiseOr(ThreadReference.current.pointee.group, ordering: .sequentiallyConsistent)
        state.withLock { $0.lists.append(WeakList(list: list)) }
    }

    /// The list whose turn it is; nil if it was deallocated, or is left to other threads.
    private func next(for group: UInt64) -> ListenerList? {
        let next = state.withLock { state -> ListenerList? in
            guard !state.lists.isEmpty else { return nil }
            state.next = state.next + 1 < state.lists.count ? state.next + 1 : 0
            guard let list = state.lists[state.next].list else {
                state.lists.swapAt(state.next, state.lists.count - 1)
                state.lists.removeLast()
                return nil
            }
            // Returned in any case, so that it is not released under the lock.
            return list
        }
        guard let next, next.readers.load(ordering: .relaxed) & group != 0 else { return nil }
        return next
    }

    /// Looks at some entries of a list, and at some of others.
    @inline(never)
    func sweep(beginningWith list: ListenerList) {
        let thread = ThreadReference.current
        // What is registered in the deinits that this runs is for a later sweep.
        guard !thread.pointee.isSweeping, thread.pointee.slotsInUse < ThreadRecord.slotCount else { return }
        thread.pointee.isSweeping = true
        thread.pointee.sweepDebt = 0
        var left = Self.entriesPerSweep - list.sweep(Self.entriesOfOwnList)
        for _ in 0..<Self.entriesPerSweep where left > 0 { left -= next(for: thread.pointee.group)?.sweep(left) ?? 0 }
        thread.pointee.isSweeping = false
    }
}

extension ListenerList {
    /// Removes the orphans among the next few entries; starts over after the last. Returns how many it looked at.
    fileprivate func sweep(_ most: Int) -> Int {
        let thread = ThreadReference.current
        enter(thread)
        defer { leave(thread) }
        // The chain does not change under the lock. Afterwards the entries stay: the list was entered.
        var (address, count) = withBareLock { () -> (UInt, Int) in
            if cursor == 0 { cursor = head.load(ordering: .relaxed) }
            let first = cursor
            var count = 0
            while count < most, let entry = Unretained<ListenerEntry>(address: cursor) {
                count += 1
                cursor = entry.borrow { $0.next.load(ordering: .relaxed) }
            }
            return (first, count)
        }
        // Without the lock: loading a weak owner retains it, and releasing it may run its deinit. Entries
        // unlinked meanwhile still lead onward; added ones are checked instead of the last ones.
        for _ in 0..<count {
            guard let entry = Unretained<ListenerEntry>(address: address) else { break }
            entry.borrow { entry in
                address = entry.next.load(ordering: .sequentiallyConsistent)
                if entry.isOrphan { cancel(entry) }
            }
        }
        didUnlock()
        return count
    }
}
