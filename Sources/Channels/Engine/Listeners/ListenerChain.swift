internal import Synchronization

/// A call of an async listener or responder, bound to the task in which it runs, and linked to the call that waits for
/// it. Calls of synchronous listeners have none, because they cannot wait. `lock` guards `upstream`; the rest is
/// constant or atomic.
final class ListenerChain: @unchecked Sendable {  // guards: see above
    @TaskLocal static var current: ListenerChain?

    let listener: ListenerEntry
    /// The call that waits for this one. Released when this call ends, because nothing waits for tasks it has left
    /// behind, and a chain of such tasks must not grow.
    @safe @exclusivity(unchecked) private var upstream: ListenerChain?
    private let lock = SpinLock()
    /// An upper bound on how many calls wait for each other, including this one.
    let depth: Int
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: ListenerEntry, upstream: ListenerChain?) {
        self.listener = listener
        self.upstream = upstream
        depth = (upstream?.depth ?? 0) + 1
    }

    /// Ends the call. A task that it has left behind may wait for the listener from now on.
    func endCall() {
        hasEnded.store(true, ordering: .releasing)
        var released: ListenerChain?
        lock.withLock { swap(&upstream, &released) }
    }

    /// How many calls wait for each other, including this one.
    var liveDepth: Int {
        var count = 0
        var chain: ListenerChain? = self
        while let call = chain, !call.hasEnded.load(ordering: .acquiring) {
            count += 1
            chain = call.lock.withLock { call.upstream }
        }
        return count
    }

    /// Returns whether this, or a call that waits for it, is an unfinished call of a listener.
    func waits(for listener: ListenerEntry) -> Bool {
        var chain: ListenerChain? = self
        while let call = chain, !call.hasEnded.load(ordering: .acquiring) {
            if call.listener === listener { return true }
            chain = call.lock.withLock { call.upstream }
        }
        return false
    }

    /// The call in which the current task runs; nil if that call has ended and left the task behind.
    static var call: ListenerChain? {
        guard let current, !current.hasEnded.load(ordering: .acquiring) else { return nil }
        return current
    }
}
