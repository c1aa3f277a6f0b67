extension FrameReference {
    /// Offers the message of a post to a mailbox that may be full, or with what travels with it, and tells the poster
    /// what becomes of it. Returns 1; 0 if the listener has ended, not if the buffer was full. Runs user code at the
    /// end: releases the message that this one has replaced.
    ///
    /// Inlined in its two callers: the values in between then need no memory.
    /// - Parameters:
    ///   - isCalled: Whether the listener is called with the message, so that the post may wait for that.
    ///   - isReported: Whether a message that is dropped is worth a fault.
    ///   - enter: Calls ``MailboxState/admit(for:copying:_:displaced:)`` under the mailbox's lock, and then starts who
    ///     delivers the message. Returns how many the mailbox has dropped, too.
    @inline(__always)
    func offer(
        to listener: ListenerEntry,
        isCalled: Bool,
        _ policy: BufferingPolicy,
        isReported: Bool,
        _ enter: (Envelope?, inout DisplacedMessage?) -> (MailboxState.Admission, dropped: Int)
    ) -> Int {
        let tracker = pointee.envelope?.tracker
        let isAwaited = isCalled && tracker?.waits(for: listener) == true
        let envelope = pointee.envelopeToKeep(withTracker: isAwaited)
        if isAwaited { tracker?.expectOne() }
        var displaced: DisplacedMessage?
        let (admission, dropped) = enter(envelope, &displaced)
        guard admission != .refused else {
            if isAwaited { tracker?.withdrawExpected() }
            return 0
        }
        let former = displaced?.envelope?.tracker
        // Released before whoever waits for it goes on.
        displaced = nil
        former?.finish(.dropped)
        // A post that does not wait for this listener counts it as finished, unless it missed the message.
        if !isAwaited {
            tracker?.count(admission == .dropped ? .dropped : isCalled ? .completed : .buffered)
        } else if admission == .dropped {
            tracker?.finish(.dropped)
        }
        // Conflation is what `.newest` is for; what `.oldest` drops is missing at the end.
        if admission == .dropped, isReported {
            pointee.list.borrow { $0.faults.reportDrop(dropped, policy, list: $0, listener: listener) }
        }
        return 1
    }
}
