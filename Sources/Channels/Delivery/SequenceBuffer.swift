internal import Synchronization

/// The listener behind a sequence: a mailbox that is emptied by whoever iterates.
///
/// `waiters` is guarded by its mutex. Continuations are resumed without it.
@usableFromInline
final class SequenceBuffer: Sendable {
    let entry: ListenerEntry
    let mailbox: Mailbox
    private let readers: SequenceReaders

    /// Makes the listener, which the caller registers.
    init(_ list: ListenerList, _ buffering: BufferingPolicy, _ site: PackedSite) {
        readers = SequenceReaders()
        mailbox = Mailbox(.consumer(readers), list.layout, buffering)
        entry = ListenerEntry(
            bits: ListenerEntry.special | ListenerEntry.general,
            owner: nil,
            mailbox: mailbox,
            site: site,
            call: BareCall(call: { _, _, _ in })
        )
    }

    deinit {
        entry.cancel()
    }

    /// Whether the calling task should try to take a message: it is not cancelled, and something may wait.
    @usableFromInline
    var mayTake: Bool { !Task.isCancelled && mailbox.mayHoldMessages }

    /// Moves the first message to uninitialised memory.
    @usableFromInline
    func take(into place: UnsafeMutableRawPointer) -> Bool {
        mailbox.takeOne(into: place)
    }

    /// Suspends until there may be something to take.
    ///
    /// - Returns: False where nothing more will come, or the task is cancelled.
    @usableFromInline
    func waitForMore() async -> Bool {
        guard entry.isActive, !Task.isCancelled else {
            // It may have been woken, before it was cancelled, for a message that another reader can take.
            if mailbox.hasWaiting { readers.wakeOne() }
            return false
        }
        // Resuming a task costs more than a moment's patience, where messages have been coming.
        if mailbox.comesInQuickly { return true }
        let reader = readers.newReader()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                readers.wait(continuation, as: reader)
                // A message put in, or an end, after the look that led here and before the line above has woken nobody.
                if mailbox.hasWaiting || !entry.isActive || Task.isCancelled { readers.wake(reader) }
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

/// The tasks that wait for a message of one sequence.
///
/// `waiting` is guarded by its mutex; continuations are resumed without it.
final class SequenceReaders: Sendable {
    private struct Waiting {
        var next = 0
        var readers: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let waiting = Locked(Waiting())
    /// How many wait: a post looks here first.
    private let count = Atomic<Int>(0)

    func newReader() -> Int {
        waiting.withLock {
            $0.next += 1
            return $0.next
        }
    }

    func wait(_ continuation: CheckedContinuation<Void, Never>, as reader: Int) {
        waiting.withLock {
            $0.readers.append((reader, continuation))
            count.store($0.readers.count, ordering: .sequentiallyConsistent)
        }
    }

    /// Resumes a certain reader, if it waits.
    func wake(_ reader: Int) {
        resume { $0.firstIndex { $0.id == reader } }
    }

    /// Resumes the reader that has waited longest. Called after a message was put in, under the mailbox's lock, behind which a
    /// reader looks again once it has been counted.
    @inline(__always)
    func wakeOne() {
        if count.load(ordering: .sequentiallyConsistent) > 0 { wakeFirst() }
    }

    @inline(never)
    private func wakeFirst() {
        resume { $0.isEmpty ? nil : 0 }
    }

    func wakeAll() {
        while count.load(ordering: .sequentiallyConsistent) > 0 { resume { $0.isEmpty ? nil : 0 } }
    }

    private func resume(_ choose: ([(id: Int, continuation: CheckedContinuation<Void, Never>)]) -> Int?) {
        let continuation = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard let index = choose(waiting.readers) else { return nil }
            let reader = waiting.readers.remove(at: index)
            count.store(waiting.readers.count, ordering: .sequentiallyConsistent)
            return reader.continuation
        }
        continuation?.resume()
    }
}

extension Mailbox {
    /// Moves the first message to uninitialised memory, for a sequence.
    func takeOne(into place: UnsafeMutableRawPointer) -> Bool {
        // Released without the lock: the sender may go with it.
        var envelope: Envelope?
        defer { withExtendedLifetime(envelope) {} }
        guard policy.kind == .unbounded else {
            // What waits stays where a full buffer can drop it.
            return lock.withLock {
                guard !incoming.isEmpty else { return false }
                envelope = incoming.moveFirst(to: place)
                delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
                if incoming.isEmpty { isBusy.store(false, ordering: .releasing) }
                return true
            }
        }
        return readLock.withLock {
            if batch.isEmpty, !refillForReaders() { return false }
            envelope = batch.moveFirst(to: place)
            delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
            return true
        }
    }

    /// Takes everything that has come at once: readers and posters seldom meet at the lock. Under the readers' lock.
    private func refillForReaders() -> Bool {
        return lock.withLock {
            guard !incoming.isEmpty else {
                incoming.giveBack()
                isBusy.store(false, ordering: .releasing)
                return false
            }
            swap(&incoming, &batch)
            hasTaken = true
            return true
        }
    }

    /// Discards what readers have taken out and not read. The listener was cancelled: nothing follows.
    func discardTaken() {
        var discarded: MessageQueue?
        readLock.withLock { discarded = batch.takeAll() }
        discarded?.discardAll()
    }

    /// Waits a moment, after messages were taken. Whether others have come.
    var comesInQuickly: Bool {
        let hadMessages = readLock.withLock {
            defer { hasTaken = false }
            return hasTaken
        }
        guard hadMessages else { return false }
        gather()
        return mayHoldMessages
    }

    /// Whether it is worth taking the lock to look.
    var mayHoldMessages: Bool { isBusy.load(ordering: .acquiring) }

    /// Whether anything waits.
    var hasWaiting: Bool {
        // Both at once: another reader may be moving messages from the one to the other.
        readLock.withLock { !batch.isEmpty || lock.withLock { !incoming.isEmpty } }
    }
}
