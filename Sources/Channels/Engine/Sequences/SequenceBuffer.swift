// Sequences: messages that tasks read with `for await`.
//
// `SequenceMailbox`, in the layer below, has the messages and the tasks that wait. `SequenceBuffer` is shared by a
// `MessageSequence` and its iterators. `ReaderTurn` makes a task that always finds a message suspend after about a
// millisecond.

/// The registration and the mailbox that a sequence and its iterators share.
@usableFromInline
final class SequenceBuffer: Sendable {
    private let token: ListenerToken
    private let mailbox: SequenceMailbox
    /// Whether the messages in the mailbox are the sequence's elements. If not, the entry's body makes the elements.
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

    /// Ends the sequence, and discards what waits.
    func end() { token.cancel() }

    /// Ends the sequence once everything that waits has been read.
    func close() { token.entry.end() }

    deinit {
        // A source that has forwarded the listener may still hold the token.
        token.cancel()
    }

    private var entry: ListenerEntry { token.entry }

    var droppedCount: Int { mailbox.accounts.dropped }

    var waitingCount: Int { mailbox.accounts.waiting }

    /// Puts the next element into uninitialized memory. Returns false if there is none, or if the task is cancelled.
    @usableFromInline
    func take(into place: MessageAddress) -> Bool {
        guard !Task.isCancelled else { return false }
        // Released without a lock, because it may hold the last reference to the sender.
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
                // The body of an adapted listener initializes the place last.
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
        // Posts that were in progress when the listener ended may still pass it a message.
        if entry.hasEnded, !entry.isCancelled, !Task.isCancelled {
            await entry.list?.waitForPosts()
            return mailbox.hasWaiting
        }
        guard !entry.hasEnded, !Task.isCancelled else {
            // Before it was cancelled, this reader may have been woken for a message that another reader can take.
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
