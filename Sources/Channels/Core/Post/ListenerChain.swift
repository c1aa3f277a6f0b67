internal import Synchronization

/// The call of an async listener in which a task runs: bound to the task for the call. Synchronous listeners
/// need none, because nothing in them can wait.
final class ListenerChain: Sendable {
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The calls that wait, or waited, for the message being delivered.
    private let upstream: [ListenerChain]
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: ListenerEntry, upstream: [ListenerChain]) {
        self.listener = listener
        self.upstream = upstream
    }

    /// From here on a task that the call has left behind may wait for the listener.
    func callHasEnded() {
        hasEnded.store(true, ordering: .releasing)
    }

    /// Whether this is a call of the listener, and under way: a call that has left a task behind waits for
    /// nothing any more.
    func isUnderWay(in listener: ListenerEntry) -> Bool {
        self.listener === listener && !hasEnded.load(ordering: .acquiring)
    }

    /// Every call that would wait for itself if the calling task waited for its listener.
    static var calls: [ListenerChain] {
        guard let current, !current.hasEnded.load(ordering: .acquiring) else { return [] }
        return current.upstream.filter { !$0.hasEnded.load(ordering: .acquiring) } + [current]
    }
}
