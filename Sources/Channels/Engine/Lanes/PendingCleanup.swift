internal import Synchronization

/// What is to be done, once the lane's lock is released, for listeners that have no ticket any more.
struct PendingCleanup {
    /// Those that have left their list. Nil as long as there are none: an empty array is counted.
    private var listeners: [Unretained<ListenerEntry>]?

    /// So many calls for a listener have ended. Under the lane's lock.
    @inline(__always)
    mutating func settle(_ count: Int, of listener: Unretained<ListenerEntry>, _ mailbox: Mailbox) {
        guard mailbox.state.settle(count) else { return }
        mailbox.isBusy.store(false, ordering: .releasing)
        if mailbox.state.hasLeft, mailbox.state.leave() { listeners = (listeners ?? []) + [listener] }
    }

    /// Frees their closures. Runs user code: the deinit of what closures captured.
    func run() {
        guard let listeners else { return }
        for listener in listeners {
            listener.borrow { $0.freeBody() }
            // Balances the retain in `Mailbox.takesOverBody`.
            listener.release()
        }
    }
}
