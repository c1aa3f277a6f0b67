internal import Synchronization

/// Finds listeners whose owner was deallocated, without waiting for a post to do so. Each thread has one, for all its
/// lists.
///
/// Each registration of a listener with an owner adds to a debt (`ThreadRecord.sweepDebt`), which is paid by checking a
/// few other entries: half of them in the same list, the rest in all lists in turn, from where the last check ended. So
/// there are at most about as many dead entries as living ones, whichever lists they are in, and no single change has
/// to check more than a few.
///
/// A check retains the owner for a moment, so the owner's deinit may run on this thread. A thread therefore checks a
/// list only if the list's first listener with an owner was registered by that thread, or by an earlier thread with the
/// same record. So the main thread's owners are left to the main thread. A list whose owners may not be Sendable
/// (``ListenerList/mayBeConfined``) has no sweeper: only the registrations made in it pay for checks.
final class Sweeper: Sendable {
    /// The calling thread's sweeper. Kept by the thread's record, which is never freed.
    static var current: Sweeper {
        let thread = ThreadReference.current
        // The address was stored below.
        if let known = Unretained<Sweeper>(address: thread.pointee.sweeper) { return known.object }
        let made = Unretained.retaining(Sweeper())
        thread.pointee.sweeper = made.address
        return made.object
    }

    private struct State {
        /// The lists that have had listeners with an owner, each until it is closed. `ListenerList.sweeperPlace` is the
        /// index.
        var lists: [ListenerList] = []
        var next = 0
    }

    private static let entriesPerSweep = 16
    private static let entriesOfOwnList = 8

    /// Its lock also guards `sweeperPlace` of the lists in it. The locks of lists are taken inside it. No list is
    /// searched under it.
    private let state = Locked(State(), spins: true)

    /// Adds a list that now has its first listener with an owner, unless the list was closed meanwhile. Runs no user
    /// code.
    func add(_ list: ListenerList) {
        state.withLock { state in
            guard list.join(self) else { return }
            list.sweeperPlace = state.lists.count
            state.lists.append(list)
        }
    }

    /// Removes a list that was closed. The caller holds a reference to it, so that it is not released under the lock.
    func remove(_ list: ListenerList) {
        state.withLock { state in
            let last = state.lists.removeLast()
            guard last !== list else { return }
            state.lists[list.sweeperPlace] = last
            last.sweeperPlace = list.sweeperPlace
        }
    }

    /// The list whose turn it is. Returned instead of used here, so that it is not released under the lock.
    private func next() -> ListenerList? {
        state.withLock { state in
            guard !state.lists.isEmpty else { return nil }
            state.next = state.next + 1 < state.lists.count ? state.next + 1 : 0
            return state.lists[state.next]
        }
    }

    /// Checks some entries of a list, and some of others.
    func sweep(beginningWith list: ListenerList) {
        let thread = ThreadReference.current
        // Registrations made in deinits that this runs are left to a later sweep.
        guard !thread.pointee.isSweeping, thread.pointee.slotsInUse < ThreadRecord.slotCount else { return }
        thread.pointee.isSweeping = true
        thread.pointee.sweepDebt = 0
        var left = Self.entriesPerSweep - list.sweep(Self.entriesOfOwnList)
        for _ in 0..<Self.entriesPerSweep where left > 0 { left -= next()?.sweep(left) ?? 0 }
        thread.pointee.isSweeping = false
    }
}

extension ListenerList {
    /// Notes which sweeper searches the list. Returns false if the list already has one or was closed.
    fileprivate func join(_ sweeper: Sweeper) -> Bool {
        withBareLock {
            guard self.sweeper == nil, !isClosed else { return false }
            self.sweeper = sweeper
            return true
        }
    }

    /// Removes the orphans among the next few entries; starts over after the last one. Returns how many it checked.
    fileprivate func sweep(_ most: Int) -> Int {
        let thread = ThreadReference.current
        enter(thread)
        defer { leave(thread) }
        // The chain does not change under the lock. Afterwards its entries are not freed, because the list was entered.
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
        // Without the lock, because loading a weak owner retains it, and releasing it may run its deinit. Entries
        // unlinked meanwhile still lead onward. If entries are added meanwhile, they are checked instead of the last
        // ones.
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
