internal import Synchronization

/// Finds listeners whose owner was deallocated, without a post: one for each thread, for all its lists.
///
/// Each registration of a listener with an owner pays for a few looks at others (`ThreadRecord.sweepDebt`): half of
/// them in its own list, the others in those of all lists in turn, from where the last look ended. So there are about
/// as many dead entries as living ones at most, whichever lists they are in, and no change pays for more than a few.
///
/// A look holds the owner for a moment, whose deinit may then run on this thread. So a thread looks only into lists
/// whose first such listener it has registered, or a thread that has ended and whose record it has: what belongs to the
/// main thread is left to it.
final class Sweeper: Sendable {
    /// That of the calling thread. Kept by its record, and so for ever.
    static var current: Sweeper {
        let thread = ThreadReference.current
        // Put there below.
        if let known = Unretained<Sweeper>(address: thread.pointee.sweeper) { return known.object }
        let made = Unretained.retaining(Sweeper())
        thread.pointee.sweeper = made.address
        return made.object
    }

    private struct State {
        /// Those with listeners that have an owner, each until it is closed. `ListenerList.sweeperPlace` is its place.
        var lists: [ListenerList] = []
        var next = 0
    }

    private static let entriesPerSweep = 16
    private static let entriesOfOwnList = 8

    /// Guards the places of its lists, too. The locks of lists are taken inside; no list is searched under it.
    private let state = Locked(State(), spins: true)

    /// Adds a list that has its first listener with an owner, unless it was closed meanwhile. Runs no user code.
    func add(_ list: ListenerList) {
        state.withLock { state in
            guard list.join(self) else { return }
            list.sweeperPlace = state.lists.count
            state.lists.append(list)
        }
    }

    /// Removes a list that was closed. The caller holds it: it is not released under the lock.
    func remove(_ list: ListenerList) {
        state.withLock { state in
            let last = state.lists.removeLast()
            guard last !== list else { return }
            state.lists[list.sweeperPlace] = last
            last.sweeperPlace = list.sweeperPlace
        }
    }

    /// The list whose turn it is. Returned, so that it is not released under the lock.
    private func next() -> ListenerList? {
        state.withLock { state in
            guard !state.lists.isEmpty else { return nil }
            state.next = state.next + 1 < state.lists.count ? state.next + 1 : 0
            return state.lists[state.next]
        }
    }

    /// Looks at some entries of a list, and at some of others.
    func sweep(beginningWith list: ListenerList) {
        let thread = ThreadReference.current
        // What is registered in the deinits that this runs is for a later sweep.
        guard !thread.pointee.isSweeping, thread.pointee.slotsInUse < ThreadRecord.slotCount else { return }
        thread.pointee.isSweeping = true
        thread.pointee.sweepDebt = 0
        var left = Self.entriesPerSweep - list.sweep(Self.entriesOfOwnList)
        for _ in 0..<Self.entriesPerSweep where left > 0 { left -= next()?.sweep(left) ?? 0 }
        thread.pointee.isSweeping = false
    }
}

extension ListenerList {
    /// Notes which sweeper searches the list. Returns false if one does, or the list was closed.
    fileprivate func join(_ sweeper: Sweeper) -> Bool {
        withBareLock {
            guard self.sweeper == nil, !isClosed else { return false }
            self.sweeper = sweeper
            return true
        }
    }

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
