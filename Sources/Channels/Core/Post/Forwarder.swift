/// What an entry keeps that hands a channel's messages on to the one listener of another list, a hub.
///
/// So that listener takes its place among those of many channels, and has one token and one mailbox.
@usableFromInline
class Forwarder: ListenerCounters, @unchecked Sendable {  // constants
    final let hub: ListenerList
    /// The hub's listener. Kept, so that it is there while a message is offered to it; its closure may be gone.
    final let listener: ListenerEntry

    init(to listener: ListenerEntry, of hub: ListenerList) {
        self.hub = hub
        self.listener = listener
        super.init()
    }

    /// Lends the message for the hub that stands for one of a list, unless there is none.
    func withMessage(
        for message: MessageAddress,
        _ context: PostContext,
        of list: ListenerList,
        _ body: (MessageAddress) -> Void
    ) {
        preconditionFailure("\(Self.self) hands no messages on")
    }

    override final var lane: Lane? { listener.mailbox?.lane }

    /// Whether the listener hears a message in its turn, of a channel that delivers one after the other: it has
    /// not been offered it before. Then the reservation is its own from here on.
    final func isItsTurn() -> Bool {
        guard listener.hasItsTurnInLane, let mailbox = listener.mailboxReference else { return true }
        guard takeReservation() else { return false }
        mailbox.borrow { $0.reserve(.now, of: hub) }
        return true
    }
}

extension ListenerList {
    /// Posts a message to a forwarder's hub.
    ///
    /// - Returns: Whether anybody was reached.
    func forward(_ message: MessageAddress, _ frame: FrameReference, _ forwarder: Forwarder) -> Bool {
        let hub = forwarder.hub
        guard !hub.hasNoListenerNow else { return false }
        var reached = 0
        forwarder.withMessage(for: message, PostContext(frame), of: self) { message in
            var inner = PostFrame(forwarding: frame.pointee, to: hub)
            inner.isTurn = frame.pointee.isTurn && forwarder.listener.hasItsTurnInLane
            reached = inner.lend { hub.post(message, in: $0) }
            inner.end()
        }
        return reached > 0
    }
}
