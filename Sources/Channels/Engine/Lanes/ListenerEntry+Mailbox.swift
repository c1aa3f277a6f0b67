internal import Synchronization

extension ListenerEntry {
    /// The mailbox, kept by the entry until its `deinit`; nil if it has none.
    @inline(__always)
    var mailboxReference: Unretained<Mailbox>? {
        guard word.load(ordering: .relaxed) & Self.waits != 0 else { return nil }
        // The bit is set only where it is one.
        return Unretained(address: countersAddress.load(ordering: .relaxed))
    }

    /// The mailbox of a listener that is known to have one.
    @inline(__always)
    var certainMailbox: Unretained<Mailbox> {
        // There is one, see above.
        Unretained(certain: countersAddress.load(ordering: .relaxed))
    }

    var mailbox: Mailbox? { mailboxReference?.object }
}
