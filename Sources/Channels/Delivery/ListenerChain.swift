internal import Synchronization

/// The listeners inside which a task runs: bound to the task once per drain.
///
/// `upstream` is guarded by its mutex.
final class ListenerChain: Sendable {
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The listeners that wait for the message being delivered.
    private let upstream = Mutex<[ListenerEntry]>([])

    init(_ listener: ListenerEntry) {
        self.listener = listener
    }

    func setUpstream(_ listeners: [ListenerEntry]) {
        upstream.withLock { $0 = listeners }
    }

    /// Every listener that would wait for itself if the calling task waited for it.
    static var listeners: [ListenerEntry] {
        guard let current else { return [] }
        return current.upstream.withLock { $0 } + [current.listener]
    }
}
