internal import Synchronization

/// The call of an async listener in which a task runs: bound to the task for the call. Synchronous listeners need none, because nothing in them
/// can wait.
final class ListenerChain: Sendable {
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The listeners that wait for the message being delivered.
    private let upstream: [ListenerEntry]
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: ListenerEntry, upstream: [ListenerEntry]) {
        self.listener = listener
        self.upstream = upstream
    }

    /// From here on a task that the call has left behind may wait for the listener.
    func callHasEnded() {
        hasEnded.store(true, ordering: .releasing)
    }

    /// Every listener that would wait for itself if the calling task waited for it.
    static var listeners: [ListenerEntry] {
        guard let current, !current.hasEnded.load(ordering: .acquiring) else { return [] }
        return current.upstream + [current.listener]
    }
}
