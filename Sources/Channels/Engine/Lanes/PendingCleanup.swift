internal import Synchronization

/// Ended listeners without tickets, whose closures are freed once the lane's lock is released.
struct PendingCleanup {
    /// The address of the listener that was recorded last, or 0. The others are linked by `previous`, which is unused
    /// once an entry has left its list. So nothing is allocated under the lock, and each listener costs the same.
    private var last: UInt = 0

    /// Records that calls of a listener have ended, and whether its closure is to be freed. Called under the lane's
    /// lock.
    mutating func settle(_ count: Int, of listener: Unretained<ListenerEntry>, _ mailbox: Mailbox) {
        guard mailbox.state.settle(count) else { return }
        listener.borrow { $0.previous = last }
        last = listener.address
    }

    /// Frees the listeners' closures. Runs user code: the deinits of captured values.
    func run() {
        var address = last
        while let listener = Unretained<ListenerEntry>(address: address) {
            address = listener.borrow(\.previous)
            listener.borrow { $0.freeBody() }
            // Balances the retain in `Mailbox.didLeaveList`.
            listener.release()
        }
    }
}
