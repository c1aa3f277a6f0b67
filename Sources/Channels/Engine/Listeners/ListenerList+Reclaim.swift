internal import Synchronization

// When entries are freed: see `HazardDomain`. The list of a `LocalChannel` counts its posts instead.
extension ListenerList {
    /// Begins a use by the calling thread: no entry it can reach is freed until ``leave(_:)``.
    @inline(__always)
    func enter(_ thread: ThreadReference) {
        if isLocal { localPosts += 1 } else { announceUse(by: thread) }
    }

    @inline(__always)
    func leave(_ thread: ThreadReference) {
        if isLocal { leaveLocally() } else { withdrawUse(by: thread) }
    }

    private func leaveLocally() {
        localPosts -= 1
        guard localPosts == 0, hasRetired.load(ordering: .relaxed) else { return }
        hasRetired.store(false, ordering: .relaxed)
        for object in takeRetired() { free(object) }
    }

    /// Takes over the list's reference to an entry that was just unlinked, if the entry has to wait, and returns true.
    /// Otherwise the caller unlocks and calls ``freeUnlessUsed(_:)``. Called under the lock.
    func waits(_ entry: ListenerEntry) -> Bool {
        let object = Unretained(entry).untyped
        guard isLocal else { return waitsBehindOthers(object) }
        guard localPosts > 0 else { return false }
        keepRetired(object)
        hasRetired.store(true, ordering: .relaxed)
        return true
    }

    /// Frees an unlinked entry, now or when the posts that may see it have ended. Called without the lock, because it
    /// may run user code.
    func freeUnlessUsed(_ entry: ListenerEntry) {
        if isLocal { free(entry) } else { freeUnlessUsed(Unretained(entry).untyped) }
    }

    /// Frees the closure of an entry that no post can see, and releases it. Runs user code: the deinits of captured
    /// values.
    func free(_ entry: ListenerEntry) {
        // Posts reach the listener of a pattern through other lists, so its closure is freed by `PatternListener`,
        // which keeps it.
        if kind != .pattern { entry.didLeaveList() }
        // Balances the retain in `link`.
        Unretained(entry).release()
    }

    /// Waits for the list's posts in progress on other threads. Posts on this thread cannot end while this waits.
    func waitForPosts() async {
        guard !isLocal else { return }
        // Nothing is posted on a hub.
        guard kind != .pattern else { return await delegate?.waitForForwarders() ?? () }
        await waitForUses()
    }
}
