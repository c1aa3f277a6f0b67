internal import Synchronization

extension ListenerEntry {
    /// Kept by the entry until its `deinit`; nil if it has none.
    @inline(__always)
    var mailboxReference: Unretained<Mailbox>? {
        guard word.load(ordering: .relaxed) & Self.waits != 0 else { return nil }
        // The bit is set only if the counters are a mailbox.
        return Unretained(address: countersAddress.load(ordering: .relaxed))
    }

    /// The mailbox of a listener that is known to have one.
    @inline(__always)
    var certainMailbox: Unretained<Mailbox> {
        // The address is set, see above.
        Unretained(certain: countersAddress.load(ordering: .relaxed))
    }

    var mailbox: Mailbox? { mailboxReference?.object }
}
