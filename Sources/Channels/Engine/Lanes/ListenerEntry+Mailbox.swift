internal import Synchronization

extension ListenerEntry {
    var mailbox: Mailbox? { word.load(ordering: .relaxed) & Self.laned != 0 ? knownMailbox.object : nil }

    /// The mailbox of a listener with the bit ``laned``.
    var knownMailbox: Unretained<Mailbox> {
        // The entry keeps its route until its `deinit`, and the bit is set only if the route is a mailbox.
        Unretained(known: routeAddress.load(ordering: .relaxed))
    }

    /// Whether tasks read its messages: the readers of a sequence, or those that call an async listener.
    var isRead: Bool { word.load(ordering: .relaxed) & Self.read != 0 }

    /// The mailbox of a listener with the bit ``read``.
    var knownSequence: Unretained<SequenceMailbox> {
        // As for `knownMailbox`.
        Unretained(known: routeAddress.load(ordering: .relaxed))
    }
}
