/// The tasks that wait for the posts of a list to end, each for those that were under way when it began to wait.
struct DrainWaiters {
    typealias Continuation = CheckedContinuation<Void, Never>

    private var waiters: [(posts: [HazardUse], continuation: Continuation)] = []

    var isEmpty: Bool { waiters.isEmpty }

    mutating func add(_ continuation: Continuation, for posts: [HazardUse]) { waiters.append((posts, continuation)) }

    /// Removes those for which every post has ended.
    ///
    /// - Complexity: O(*n*) in the number of tasks.
    mutating func remove(_ hasEnded: (HazardUse) -> Bool) -> [Continuation] {
        var removed: [Continuation] = []
        waiters.removeAll { waiter in
            guard waiter.posts.allSatisfy(hasEnded) else { return false }
            removed.append(waiter.continuation)
            return true
        }
        return removed
    }
}
