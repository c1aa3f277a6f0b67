extension FrameReference {
    /// Offers the message of a post, and what travels with it, to a mailbox that may be full, and tells the poster what
    /// becomes of it. Returns 1, even if the buffer was full; 0 if the listener has ended. May run user code at the
    /// end, when it releases a message that this one has replaced.
    ///
    /// Inlined into its two callers, so that the values passed between them need no memory.
    /// - Parameters:
    ///   - isCalled: Whether the listener is called with the message, so that the post may wait for the call.
    ///   - isReported: Whether a dropped message raises a fault.
    ///   - enter: Calls ``MailboxState/admit(for:copying:_:displaced:)`` under the mailbox's lock, and then starts the
    ///     drain or reader if necessary. Also returns how many messages the mailbox has dropped so far.
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
        // Released before a poster that waits for that message continues.
        displaced = nil
        former?.finish(.dropped)
        // A listener that is called but not waited for stays unfinished in the report.
        if !isAwaited {
            tracker?.count(admission == .dropped ? .dropped : isCalled ? .settled : .buffered)
        } else if admission == .dropped {
            tracker?.finish(.dropped)
        }
        // With `.newest`, dropping older messages is the purpose; with `.oldest`, the latest messages are lost.
        if admission == .dropped, isReported {
            pointee.list.borrow { $0.faults.reportDrop(dropped, policy, list: $0, listener: listener) }
        }
        return 1
    }
}
