internal import Dispatch
internal import Synchronization

/// Entries that have been unlinked but may still be used by posts, in two generations.
///
/// `current` waits for the posts in `underWay`, which were in progress when it began to wait; `incoming` was
/// retired since, and begins to wait once `current` is freed. Neither waits for later posts, so endless
/// posting cannot keep an entry alive.
struct RetiredEntries {
    /// Entries linked through `previous`, each with the list's reference to it.
    struct Chain {
        var first: UInt = 0

        var isEmpty: Bool { first == 0 }

        mutating func add(_ entry: ListenerEntry) {
            entry.previous = first
            first = entry.address
        }

        mutating func append(_ other: Chain) {
            var address = other.first
            while let entry = Unretained<ListenerEntry>(address: address) {
                entry.borrow {
                    address = $0.previous
                    add($0)
                }
            }
        }

        /// Frees the closures and releases the references. Runs user code: the deinits of captured values.
        consuming func free() {
            var address = first
            while let entry = Unretained<ListenerEntry>(address: address) {
                entry.borrow {
                    address = $0.previous
                    $0.hasLeft()
                }
                // Balances the retain in `link`.
                entry.release()
            }
        }
    }

    var current = Chain()
    var incoming = Chain()
    var underWay: [HazardUse] = []
    /// The tasks that wait for posts to end, each for those that were under way when it began to wait.
    var waiters: [(posts: [HazardUse], continuation: CheckedContinuation<Void, Never>)] = []

    var backoff = CollectionBackoff()

    var isEmpty: Bool { current.isEmpty && incoming.isEmpty && waiters.isEmpty }
}

extension ListenerList {
    /// Begins a use by the calling thread: no entry it can reach is freed until ``leave(_:)``.
    @inline(__always)
    func enter(_ thread: ThreadReference) {
        if isLocal { localPosts += 1 } else { thread.announce(address, to: posters) }
    }

    @inline(__always)
    func leave(_ thread: ThreadReference) {
        if isLocal { localPosts -= 1 } else { thread.withdraw() }
        if hasRetired.load(ordering: .acquiring) { collectAfterPost() }
    }

    /// The posts in progress on any thread.
    var posts: [HazardUse] { HazardUse.uses(of: address, by: posters.load(ordering: .sequentiallyConsistent)) }

    var hasPosts: Bool { HazardUse.hasUses(of: address, by: posters.load(ordering: .sequentiallyConsistent)) }

    /// Takes over the list's reference to an entry just unlinked, under the lock. An entry that no post can
    /// see goes to `freed`, to be freed without the lock. Returns whether to call ``collectLater(after:)``.
    func retire(_ entry: ListenerEntry, freed: inout RetiredEntries.Chain) -> Bool {
        if isLocal {
            if localPosts == 0 { freed.add(entry) } else { retired.current.add(entry) }
            hasRetired.store(!retired.isEmpty, ordering: .relaxed)
            return false
        }
        guard kind != .pattern else {
            // Posts reach the listener of a pattern by other lists. `PatternListener` keeps it, and frees its closure.
            Unretained(entry).release()
            return false
        }
        guard retired.current.isEmpty else {
            retired.incoming.add(entry)
            return false
        }
        guard hasPosts else {
            freed.add(entry)
            return false
        }
        return retire(entry, waitingFor: posts, freed: &freed)
    }

    @inline(never)
    private func retire(_ entry: ListenerEntry, waitingFor posts: [HazardUse], freed: inout RetiredEntries.Chain)
        -> Bool
    {
        guard !posts.isEmpty else {
            freed.add(entry)
            return false
        }
        retired.current.add(entry)
        retired.underWay = posts
        return announceRetired(to: posts)
    }

    /// Makes posts check for retired entries when they end. Called under the lock. Returns whether the caller
    /// must then call ``collectLater(after:)``, because a post on another thread may end unnoticed.
    func announceRetired(to posts: [HazardUse]) -> Bool {
        if !hasRetired.load(ordering: .relaxed) { hasRetired.store(true, ordering: .sequentiallyConsistent) }
        return posts.contains { !$0.isOnCallingThread } && retired.backoff.begin()
    }

    /// Collects later, in case the end of a post goes unnoticed.
    ///
    /// A post clears its slot and then reads `hasRetired`, without a barrier in between: it may read the old
    /// value while its slot still looks taken. The slot looks free a moment later, so this looks again after
    /// 1 ms, 2, 4 and so on, as long as anything is left; a long post causes few looks.
    @inline(never)
    func collectLater(after milliseconds: Int = 1) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in
            collect(waitsForLock: true)
            collectIfAsked()
            let next = lock.withLock { retired.backoff.end(after: milliseconds, isEmpty: retired.isEmpty) }
            if let next { collectLater(after: next) }
        }
    }

    /// Frees entries whose last user was the post that just ended.
    @inline(never)
    func collectAfterPost() {
        if isLocal {
            guard localPosts == 0 else { return }
            let freed = retired.current
            retired.current = RetiredEntries.Chain()
            hasRetired.store(false, ordering: .relaxed)
            freed.free()
            return
        }
        mustCollect.store(true, ordering: .sequentiallyConsistent)
        collectIfAsked()
    }

    /// Collects for posts that ended while this thread held the lock; a post never waits for it.
    ///
    /// The post sets `mustCollect` and then tries the lock; the holder releases the lock and then exchanges
    /// `mustCollect`. Both are sequentially consistent, so one of the two sees the other.
    @inline(never)
    func collectIfAsked() {
        while mustCollect.exchange(false, ordering: .sequentiallyConsistent) {
            guard collect(waitsForLock: false) else {
                mustCollect.store(true, ordering: .sequentiallyConsistent)
                // The holder may have released the lock between the two lines above without seeing the flag.
                guard collect(waitsForLock: false) else { return }
                continue
            }
        }
    }

    /// Frees generations whose posts have ended, and resumes the tasks that wait for them. Returns false if
    /// the lock was not available.
    @discardableResult
    private func collect(waitsForLock: Bool) -> Bool {
        var freed = RetiredEntries.Chain()
        var resumed: [CheckedContinuation<Void, Never>] = []
        var collectsLater = false
        let body = { [self] in
            let address = address
            while !retired.current.isEmpty, retired.underWay.allSatisfy({ $0.hasEnded(address) }) {
                freed.append(retired.current)
                retired.current = retired.incoming
                retired.incoming = RetiredEntries.Chain()
                retired.underWay = retired.current.isEmpty ? [] : posts
                if !retired.underWay.isEmpty { collectsLater = announceRetired(to: retired.underWay) || collectsLater }
            }
            retired.waiters.removeAll { waiter in
                guard waiter.posts.allSatisfy({ $0.hasEnded(address) }) else { return false }
                resumed.append(waiter.continuation)
                return true
            }
            if retired.isEmpty { hasRetired.store(false, ordering: .sequentiallyConsistent) }
        }
        if waitsForLock {
            lock.withLock(body)
        } else if !lock.withLockIfAvailable(body) {
            return false
        }
        freed.free()
        for continuation in resumed { continuation.resume() }
        if collectsLater { collectLater() }
        return true
    }

    /// Waits for the list's posts in progress on other threads. Those on this thread cannot end meanwhile.
    func waitForPosts() async {
        guard !isLocal else { return }
        // Nothing is posted on a hub.
        guard kind != .pattern else { return await delegate?.waitForForwarders() ?? () }
        await withCheckedContinuation { continuation in
            let posts = self.posts.filter { !$0.isOnCallingThread }
            guard !posts.isEmpty else {
                continuation.resume()
                return
            }
            let collectsLater = lock.withLock {
                retired.waiters.append((posts, continuation))
                return announceRetired(to: posts)
            }
            // Some posts may have ended before they could see that a task waits.
            if posts.allSatisfy({ $0.hasEnded(address) }) { collect(waitsForLock: true) }
            collectIfAsked()
            if collectsLater { collectLater() }
        }
    }
}
