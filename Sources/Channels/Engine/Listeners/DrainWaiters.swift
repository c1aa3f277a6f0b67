/// The tasks that wait for the posts of a list to end, each for those that were under way when it began to wait.
///
/// Ordered by a post that each of them waits for, so that a look costs the number of posts, however many tasks wait.
struct DrainWaiters {
    typealias Continuation = CheckedContinuation<Void, Never>

    private struct Waiter {
        /// Those it still waits for; the last is the one it is found by.
        var posts: [HazardUse]
        let continuation: Continuation
    }

    private var waiters: [HazardUse: [Waiter]] = [:]

    var isEmpty: Bool { waiters.isEmpty }

    /// - Parameter posts: One at least.
    mutating func add(_ continuation: Continuation, for posts: [HazardUse]) {
        add(Waiter(posts: posts, continuation: continuation))
    }

    private mutating func add(_ waiter: Waiter) {
        guard let post = waiter.posts.last else { return }
        waiters[post, default: []].append(waiter)
    }

    /// Removes those for which every post has ended.
    mutating func remove(_ hasEnded: (HazardUse) -> Bool) -> [Continuation] {
        var removed: [Continuation] = []
        for post in waiters.keys.filter(hasEnded) {
            for var waiter in waiters.removeValue(forKey: post) ?? [] {
                while let post = waiter.posts.last, hasEnded(post) { waiter.posts.removeLast() }
                if waiter.posts.isEmpty { removed.append(waiter.continuation) } else { add(waiter) }
            }
        }
        return removed
    }
}
