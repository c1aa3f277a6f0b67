internal import Synchronization

/// The call of an async listener in which a task runs, as a task-local value. Synchronous listeners need
/// none, because nothing in them can wait.
final class ListenerChain: Sendable {
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The calls that wait, or waited, for this message.
    private let upstream: [ListenerChain]
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: ListenerEntry, upstream: ListenerChain?) {
        self.listener = listener
        self.upstream = upstream
        depth = (upstream?.depth ?? 0) + 1
    }

    /// From here on a task that the call left behind may wait for the listener.
    func callHasEnded() {
        hasEnded.store(true, ordering: .releasing)
    }

    /// Whether this is a call of the listener that is under way.
    func isUnderWay(in listener: ListenerEntry) -> Bool {
        self.listener === listener && !hasEnded.load(ordering: .acquiring)
    }

    /// The call in which the calling task runs, unless it has left the task behind.
    static var call: ListenerChain? {
        guard let current, !current.hasEnded.load(ordering: .acquiring) else { return nil }
        return current
    }
}
