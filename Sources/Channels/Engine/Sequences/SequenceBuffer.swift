// Sequences: mailboxes that tasks read with `for await`, instead of a drain.
//
// `SequenceBuffer` is shared by a `MessageSequence` and its iterators; `Mailbox+Read` takes messages out,
// under a lock of the readers; `SequenceReaders`, on the floor below, holds the tasks that wait. `ReaderTurn`
// makes a task that always finds a message suspend after a millisecond.

/// The registration and the mailbox that a sequence and its iterators share.
@usableFromInline
final class SequenceBuffer: Sendable {
    private let token: ListenerToken
    private let mailbox: Mailbox
    private let readers: SequenceReaders
    /// Whether the mailbox holds the sequence's elements. If not, the entry's body makes them.
    private let isPlain: Bool

    init(_ token: ListenerToken, _ readers: SequenceReaders, source: Any.Type) {
        guard let mailbox = token.entry.mailbox, mailbox.readers === readers else {
            fatalError(
                "\(source).register(_:isolation:) did not hand on the listener of a sequence: register the one it is given"
            )
        }
        self.token = token
        self.mailbox = mailbox
        self.readers = readers
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
        guard !isPlain else { return mailbox.takeOne(into: place, &envelope) }
        return mailbox.layout.withTemporary { message in
            var isRead = false
            // The body skips some messages.
            while !isRead, mailbox.takeOne(into: message, &envelope) {
                defer { mailbox.layout.destroy(message) }
                guard let list = entry.list else { return false }
                var frame = PostFrame(list, message, Post(envelope))
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
            if mailbox.hasWaiting { readers.wakeOne() }
            return false
        }
        // While messages keep arriving, spinning briefly costs less than resuming a task.
        if mailbox.comesInQuickly { return true }
        turn.suspends()
        let reader = readers.newReader()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                readers.wait(continuation, as: reader)
                // A message or end that came since the last check, but before `wait`, woke no reader.
                if mailbox.hasWaiting || entry.hasEnded || Task.isCancelled { readers.wake(reader) }
            }
        } onCancel: {
            readers.wake(reader)
        }
        guard Task.isCancelled else { return true }
        // It may have been woken for a message that another reader can take.
        if mailbox.hasWaiting { readers.wakeOne() }
        return false
    }
}
