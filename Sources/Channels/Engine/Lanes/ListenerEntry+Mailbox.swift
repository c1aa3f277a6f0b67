internal import Synchronization

extension ListenerEntry {
    var mailbox: Mailbox? { word.load(ordering: .relaxed) & Self.laned != 0 ? knownMailbox.object : nil }

    /// The mailbox of a listener with the bit ``laned``.
    var knownMailbox: Unretained<Mailbox> {
        // Kept by the entry until its `deinit`; the bit is set only if the route is one.
        Unretained(known: routeAddress.load(ordering: .relaxed))
    }

    /// Whether tasks read its messages: those of a sequence, or those that call it.
    var isRead: Bool { word.load(ordering: .relaxed) & Self.read != 0 }

    /// The mailbox of a listener with the bit ``read``.
    var knownSequence: Unretained<SequenceMailbox> {
        // See above.
        Unretained(known: routeAddress.load(ordering: .relaxed))
    }
}
