internal import Synchronization

/// Listeners without a ticket to clean up after, once the lane's lock is released.
struct PendingCleanup {
    /// Those that have left their list. Nil while there are none: even an empty array is reference-counted.
    private var listeners: [Unretained<ListenerEntry>]?

    /// Records that calls of a listener have ended. Called under the lane's lock.
    @inline(__always)
    mutating func settle(_ count: Int, of listener: Unretained<ListenerEntry>, _ mailbox: Mailbox) {
        guard mailbox.state.settle(count) else { return }
        if mailbox.state.hasLeft, mailbox.state.leave() { listeners = (listeners ?? []) + [listener] }
    }

    /// Frees the listeners' closures. Runs user code: the deinits of captured values.
    func run() {
        guard let listeners else { return }
        for listener in listeners {
            listener.borrow { $0.freeBody() }
            // Balances the retain in `Mailbox.didLeaveList`.
            listener.release()
        }
    }
}
