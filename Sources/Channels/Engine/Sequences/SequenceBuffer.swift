// Sequences: messages that tasks read with `for await`, instead of a drain.
//
// `SequenceMailbox`, on the floor below, has the messages and the tasks that wait. `SequenceBuffer` is shared by a
// `MessageSequence` and its iterators. `ReaderTurn` makes a task that always finds a message suspend after a
// millisecond.

/// The registration and the mailbox that a sequence and its iterators share.
@usableFromInline
final class SequenceBuffer: Sendable {
    private let token: ListenerToken
    private let mailbox: SequenceMailbox
    /// Whether the mailbox holds the sequence's elements. If not, the entry's body makes them.
    private let isPlain: Bool

    init(_ token: ListenerToken, _ number: Int, source: Any.Type) {
        let mailbox = token.entry.isRead ? token.entry.knownSequence.object : nil
        guard let mailbox, mailbox.number == number else {
            fatalError(
                "\(source).register(_:isolation:) did not forward the listener it was given: "
                    + "pass that listener on to 'register' of the source"
            )
        }
        self.token = token
        self.mailbox = mailbox
        isPlain = !token.entry.isGeneral
    }

    /// Ends the sequence; what waits is discarded.
    func end() { token.cancel() }

    /// Ends the sequence once what waits is read.
    func close() { token.entry.end() }

    deinit {
        // A source that registered the listener for somebody else may still hold the token.
        token.cancel()
    }

    private var entry: ListenerEntry { token.entry }

    var droppedCount: Int { mailbox.accounts.dropped }

    var waitingCount: Int { mailbox.accounts.waiting }

    /// Puts the next element into uninitialised memory. False if there is none, or the task is cancelled.
    @usableFromInline
    func take(into place: MessageAddress) -> Bool {
        guard !Task.isCancelled else { return false }
        // Released without a lock: it may hold the last reference to the sender.
        var envelope: Envelope?
        defer { if let trace = envelope?.trace { trace.noteRead(by: entry) } }
        guard !isPlain else { return mailbox.takeFirst(into: place, &envelope) }
        return mailbox.layout.withTemporary { message in
            var isRead = false
            // The body skips some messages.
            while !isRead, mailbox.takeFirst(into: message, &envelope) {
                defer { mailbox.layout.destroy(message) }
                guard let list = entry.list else { return false }
                var frame = PostFrame(list, message, PostOptions(envelope))
                frame.place = place
                // The body of an adapted listener ends by initialising the place.
                frame.lend { entry.run(message, nil, $0) }
                isRead = frame.place == nil
                frame.end()
            }
            return isRead
        }
    }

    /// Suspends until there may be an element to take.
    ///
    /// - Parameter turn: Reset if the calling task suspends.
    /// - Returns: False if no more messages will arrive, or the task is cancelled.
    @usableFromInline
    func waitForMore(_ turn: inout ReaderTurn) async -> Bool {
        // Posts that were under way when the listener ended may still hand it a message.
        if entry.hasEnded, !entry.isCancelled, !Task.isCancelled {
            await entry.list?.waitForPosts()
            return mailbox.hasWaiting
        }
        guard !entry.hasEnded, !Task.isCancelled else {
            // Before its cancellation, it may have been woken for a message that another reader can take.
            mailbox.handOn()
            return false
        }
        // While messages keep arriving, spinning briefly costs less than resuming a task.
        if mailbox.gather() { return true }
        turn.end()
        await mailbox.waitForMore(of: entry)
        guard Task.isCancelled else { return true }
        mailbox.handOn()
        return false
    }
}
