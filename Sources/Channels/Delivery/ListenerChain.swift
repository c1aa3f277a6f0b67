internal import Synchronization

/// The listeners inside which a task runs: bound to the task once per drain.
///
/// `upstream` is guarded by `lock`.
final class ListenerChain: @unchecked Sendable {
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The listeners that wait for the message being delivered.
    private let lock = SpinLock()
    @exclusivity(unchecked) private var upstream: [ListenerEntry] = []

    init(_ listener: ListenerEntry) {
        self.listener = listener
    }

    func setUpstream(_ listeners: [ListenerEntry]) {
        // What is replaced goes without the lock.
        var replaced = listeners
        lock.withLock { swap(&replaced, &upstream) }
    }

    /// Every listener that would wait for itself if the calling task waited for it.
    static var listeners: [ListenerEntry] {
        guard let current else { return [] }
        return current.lock.withLock { current.upstream } + [current.listener]
    }
}
