internal import Synchronization

extension ListenerEntry {
    var mailbox: Mailbox? { state.contains(.waitsInLane) ? knownMailbox.object : nil }

    /// The mailbox of a listener with the bit ``ListenerState/waitsInLane``.
    var knownMailbox: Unretained<Mailbox> {
        // The entry keeps its route until its `deinit`, and the bit is set only if the route is a mailbox.
        Unretained(known: routeAddress.load(ordering: .relaxed))
    }

    /// Whether tasks read its messages: the readers of a sequence, or those that call an async listener.
    var isRead: Bool { state.contains(.waitsForReader) }

    /// The mailbox of a listener with the bit ``ListenerState/waitsForReader``.
    var knownSequence: Unretained<SequenceMailbox> {
        // As for `knownMailbox`.
        Unretained(known: routeAddress.load(ordering: .relaxed))
    }
}
