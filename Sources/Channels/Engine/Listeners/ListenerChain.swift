internal import Synchronization

/// The call of an async listener or responder in which a task runs: bound to the task for the call.
/// Synchronous listeners need none, because nothing in them can wait.
///
/// `lock` guards `upstream`; the rest is constant or atomic.
final class ListenerChain: @unchecked Sendable {  // guards: see above
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The call that waits for this one. Given up when this one has ended: what it has left behind, nobody
    /// waits for, and a chain of such tasks does not grow.
    @safe @exclusivity(unchecked) private var upstream: ListenerChain?
    private let lock = SpinLock()
    /// At most so many calls wait for each other, this one included.
    let depth: Int
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: ListenerEntry, upstream: ListenerChain?) {
        self.listener = listener
        self.upstream = upstream
        depth = (upstream?.depth ?? 0) + 1
    }

    /// From here on a task that the call left behind may wait for the listener.
    func callHasEnded() {
        hasEnded.store(true, ordering: .releasing)
        var released: ListenerChain?
        lock.withLock { swap(&upstream, &released) }
    }

    /// How many calls wait for each other, this one included.
    var liveDepth: Int {
        var count = 0
        var chain: ListenerChain? = self
        while let call = chain, !call.hasEnded.load(ordering: .acquiring) {
            count += 1
            chain = call.lock.withLock { call.upstream }
        }
        return count
    }

    /// Whether this call, or one that waits for it, is a call of a listener, and under way: a call that has
    /// left a task behind waits for nothing any more.
    func waits(for listener: ListenerEntry) -> Bool {
        var chain: ListenerChain? = self
        while let call = chain, !call.hasEnded.load(ordering: .acquiring) {
            if call.listener === listener { return true }
            chain = call.lock.withLock { call.upstream }
        }
        return false
    }

    /// The call in which the calling task runs, unless it has left the task behind.
    static var call: ListenerChain? {
        guard let current, !current.hasEnded.load(ordering: .acquiring) else { return nil }
        return current
    }
}
