// Sequences: mailboxes that tasks read by `for await`, instead of a drain.
//
// `SequenceBuffer` is what a `MessageSequence` and its iterators share; `Mailbox+Read` takes messages out, under a
// lock of the readers; `SequenceReaders`, on the floor below, holds the tasks that wait. `ReaderTurn` makes a task
// that always finds a message give up its actor after a millisecond.

/// What a sequence and its iterators share: the registration, and the mailbox they read.
@usableFromInline
final class SequenceBuffer: Sendable {
    /// Of the registration, which ends when the buffer is released.
    private let token: ListenerToken
    private let mailbox: Mailbox
    private let readers: SequenceReaders
    /// Whether the messages in the mailbox are the sequence's elements. Otherwise the entry's body makes
    /// them.
    private let isPlain: Bool

    /// - Precondition: The token is that of a listener with these readers.
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

    deinit {
        // A source that registered the listener for somebody else may keep the token.
        token.cancel()
    }

    private var entry: ListenerEntry { token.entry }

    /// Messages dropped because the buffer was full.
    var droppedCount: Int { mailbox.accounts.dropped }

    /// Messages that wait to be read.
    var waitingCount: Int { mailbox.accounts.waiting }

    /// Puts the first element into uninitialised memory. False if there is none, or the calling task is cancelled.
    @usableFromInline
    func take(into place: MessageAddress) -> Bool {
        guard !Task.isCancelled else { return false }
        // Released at the end, without a lock: it may hold the last reference to the sender.
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

    /// Suspends until there may be something to take.
    ///
    /// - Parameter turn: Begins again if the calling task was suspended.
    /// - Returns: False if no more messages will arrive, or the task is cancelled.
    @usableFromInline
    func waitForMore(_ turn: inout ReaderTurn) async -> Bool {
        guard !entry.hasEnded, !Task.isCancelled else {
            // It may have been woken, before its cancellation, for a message that another reader can take.
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
                // A message enqueued, or an end, between the last check and the line above has woken no
                // reader.
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
