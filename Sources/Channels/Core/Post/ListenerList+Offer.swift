internal import Synchronization

// For a channel that delivers one message after the other, whichever threads post. Listeners with a mailbox
// are offered a message under the channel's own lock, so that what a thread posts is in their lanes before it
// posts anything else; the others are called when the message has its turn.
extension ListenerList {
    /// What is left to do, without the channel's lock, for messages that were offered under it.
    struct Offered {
        fileprivate var entered: ThreadReference?
        fileprivate var work: OfferedWork?
    }

    /// Offers a message to every mailbox. Runs no user code.
    ///
    /// - Parameters:
    ///   - number: That of the first listener that is too new.
    ///   - reservation: When the calling thread delivers the message, if it does so before any that another
    ///     thread has posted. Then a listener that it may call at once is called in that turn.
    ///   - offered: For ``finish(_:)``, which must follow.
    func offer(
        _ message: MessageAddress,
        _ envelope: Envelope?,
        before number: UInt64,
        from isolation: UInt,
        _ reservation: ListenerCounters.Reservation?,
        _ offered: inout Offered
    ) {
        enterToOffer(&offered)
        var address = head.load(ordering: .sequentiallyConsistent)
        while let entry = Unretained<ListenerEntry>(address: address) {
            // The list is entered, see `deliver`.
            entry.borrow { listener in
                if listener.hasItsTurnInLane {
                    _ = offer(message, envelope, to: listener, from: isolation, reservation, &offered)
                } else if let forwarder = listener.forwarder, !listener.hasEnded, listener.number < number {
                    forwarder.borrow {
                        offer(message, envelope, to: $0, of: listener, from: isolation, reservation, &offered)
                    }
                }
                address = listener.next.load(ordering: .sequentiallyConsistent)
            }
        }
    }

    /// The same for one listener.
    ///
    /// - Returns: Whether its turn is reserved.
    func offer(
        _ message: MessageAddress,
        _ envelope: Envelope?,
        to listener: ListenerEntry,
        from isolation: UInt,
        _ reservation: ListenerCounters.Reservation?,
        _ offered: inout Offered
    ) -> Bool {
        guard let mailbox = listener.mailboxReference else { return false }
        return mailbox.borrow {
            offer(message, envelope, to: listener, $0, from: isolation, reservation, heldBy: $0, &offered)
                == .hasTurn
        }
    }

    /// The same for the listener of a forwarder's hub.
    private func offer(
        _ message: MessageAddress,
        _ envelope: Envelope?,
        to forwarder: Forwarder,
        of entry: ListenerEntry,
        from isolation: UInt,
        _ reservation: ListenerCounters.Reservation?,
        _ offered: inout Offered
    ) {
        let listener = forwarder.listener
        // Any other is called in the message's turn.
        guard listener.hasItsTurnInLane, let mailbox = listener.mailbox else { return }
        guard let message = offered.translated(message, envelope, of: self, by: forwarder) else { return }
        let outcome = offer(
            message,
            envelope,
            to: listener,
            mailbox,
            from: isolation,
            reservation,
            heldBy: forwarder,
            &offered
        )
        // With a turn, the hub counts it then.
        if outcome != .hasTurn, let meter = forwarder.hub.meter { forwarder.hub.countPost(meter) }
        if outcome == .missed { passTurns(of: entry, forwarder, mailbox) }
    }

    /// The listener of a hub misses a message because it is paused. Should it resume before the turn of that, it
    /// does not take it for the turn of a later one, which it would miss then. As a listener of the state that
    /// resumes, it is called with nothing set before.
    private func passTurns(of entry: ListenerEntry, _ forwarder: Forwarder, _ mailbox: Mailbox) {
        renumber(entry, clearing: 0)
        while forwarder.takeReservation() { mailbox.countMissed() }
    }

    /// - Parameter holder: Keeps the reservation.
    private func offer(
        _ message: MessageAddress,
        _ envelope: Envelope?,
        to listener: ListenerEntry,
        _ mailbox: Mailbox,
        from isolation: UInt,
        _ reservation: ListenerCounters.Reservation?,
        heldBy holder: ListenerCounters,
        _ offered: inout Offered
    ) -> OfferOutcome {
        enterToOffer(&offered)
        let word = listener.word.load(ordering: .acquiring)
        guard word & ListenerEntry.ended == 0 else { return .none }
        guard word & ListenerEntry.paused == 0 else {
            mailbox.countMissed()
            return .missed
        }
        if let reservation, mailbox.mayCall(from: isolation, listener, inTurnOf: reservation == .later ? self : nil) {
            holder.reserve(reservation, of: self)
            return .hasTurn
        }
        let outcome = mailbox.letIn(message, envelope, from: isolation, for: listener)
        if isMetered { mailbox.noteWaiting() }
        // Nothing to do is what is usual.
        if outcome.leavesWork { offered.add(listener, mailbox, outcome) }
        return .none
    }

    private enum OfferOutcome {
        /// It is called in the message's turn.
        case hasTurn
        /// It is paused.
        case missed
        /// It has the message in its mailbox, or has ended.
        case none
    }

    private func enterToOffer(_ offered: inout Offered) {
        guard offered.entered == nil else { return }
        let thread = ThreadReference.current
        enter(thread)
        offered.entered = thread
    }

    /// Does what is left to do. Runs user code, at the end of a message's life.
    @inline(__always)
    func finish(_ offered: consuming Offered) {
        guard let thread = offered.entered else { return }
        offered.work?.finish()
        leave(thread)
    }

    /// Calls a listener whose turn was reserved for the calling thread. The caller has entered the list.
    func deliverReserved(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        before number: UInt64
    ) -> Bool {
        let word = listener.word.load(ordering: .acquiring)
        // One that has come, or resumed, since has a reservation for a later turn.
        guard word & ListenerEntry.number < number, let mailbox = listener.mailbox else { return false }
        guard mailbox.takeReservation(), word & ListenerEntry.ended == 0 else { return false }
        guard word & ListenerEntry.paused == 0 else {
            mailbox.countMissed()
            return false
        }
        let owner = listener.owner
        guard owner != nil || !listener.hasOwner else {
            cancel(listener)
            return false
        }
        mailbox.countDirectCall()
        call(listener, message, owner, frame)
        withExtendedLifetime(owner) {}
        return true
    }
}

/// Messages let in that start a drain, wake a reader, or have taken the place of another, and what the message is
/// for forwarders. Made only where there is one, so that a state that nobody hears that way pays nothing.
final class OfferedWork {
    fileprivate var letIn: [(listener: ListenerEntry, mailbox: Mailbox, outcome: Mailbox.LetIn)] = []
    fileprivate var translation = Translation()

    fileprivate func finish() { for (listener, mailbox, outcome) in letIn { mailbox.finish(outcome, for: listener) } }
}

extension ListenerList.Offered {
    fileprivate mutating func add(_ listener: ListenerEntry, _ mailbox: Mailbox, _ outcome: Mailbox.LetIn) {
        ensureWork().letIn.append((listener, mailbox, outcome))
    }

    /// What the message is for a forwarder; nil if it skips it.
    fileprivate mutating func translated(
        _ message: MessageAddress,
        _ envelope: Envelope?,
        of list: ListenerList,
        by forwarder: Forwarder
    ) -> MessageAddress? {
        let work = ensureWork()
        if forwarder.translatesForAll, let known = work.translation.message { return known }
        return forwarder.translate(message, PostContext(envelope, list), of: list, into: &work.translation)
    }

    private mutating func ensureWork() -> OfferedWork {
        let known = work ?? OfferedWork()
        work = known
        return known
    }
}
