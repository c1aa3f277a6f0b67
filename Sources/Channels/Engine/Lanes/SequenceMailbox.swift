internal import Synchronization

/// The messages of a sequence, and the tasks that wait for one of them: what comes in. `Engine/Sequences` has what a
/// reader does.
///
/// Guards: `lock` guards `state` and `waiting`. From an unbounded buffer a reader takes all messages at once: `readLock`
/// guards what readers have taken, and is taken before `lock`, if both are. So readers and posters seldom meet, and what
/// they write for each message is on different cache lines.
@usableFromInline
final class SequenceMailbox: ListenerRoute, @unchecked Sendable {  // guards: see above
    private static let lastNumber = Atomic<Int>(0)

    /// Recognises the sequence for which this was made, so that no other one reads its messages.
    let number: Int
    let layout: MessageLayout
    private let policy: BufferingPolicy
    private let lock = SpinLock()
    @safe @exclusivity(unchecked) private var state: MailboxState
    /// The readers that wait, each with a number of its own.
    private var waiting = WaitingReaders()
    /// Whether `state` may hold messages: stays true until a reader finds none. Written under the lock.
    private let holdsMessages = Atomic<Bool>(false)
    /// How many messages have been put in. Written under the lock.
    private let arrived = Atomic<Int>(0)
    // Keeps what readers write for each message off the cache lines that posters write.
    private let padding = Padding()
    /// Here, because readers look at it for each message. Posters look at `policy`.
    private let takesAll: Bool
    private let readLock = SpinLock()
    @safe @exclusivity(unchecked) private var taken: MessageQueue
    private let delivered = Atomic<Int>(0)
    /// Whether readers have taken messages since a reader last looked whether more come quickly.
    private var hasTaken = false
    private let lastReader = Atomic<Int>(0)

    init(_ number: Int, _ layout: MessageLayout, _ policy: BufferingPolicy, adaptor: Adaptor?) {
        self.number = number
        self.layout = layout
        self.policy = policy
        takesAll = policy.kind == .unbounded
        state = MailboxState(layout, policy)
        taken = MessageQueue(layout)
        super.init(adaptor: adaptor)
    }

    static func makeNumber() -> Int { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Enqueues a copy of the message. Returns false if the listener has ended, not if the buffer was full.
    func enqueue(_ frame: FrameReference, for listener: ListenerEntry) -> Bool {
        guard policy.kind == .unbounded, !frame.pointee.carriesMore else { return admit(frame, for: listener) }
        let message = frame.pointee.message
        var hasReader = false
        let isIn = lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is enqueued.
            guard !listener.isCancelled, !state.isDead else { return false }
            state.append(copying: message)
            noteArrival()
            hasReader = !waiting.isEmpty
            return true
        }
        if hasReader { wakeOne() }
        return isIn
    }

    /// Enqueues a message with what travels with it, if the policy has room for it.
    @inline(never)
    private func admit(_ frame: FrameReference, for listener: ListenerEntry) -> Bool {
        let message = frame.pointee.message
        // No post waits for a reader.
        let envelope = frame.pointee.envelopeToKeep(withTracker: false)
        var displaced: DisplacedMessage?
        var hasReader = false
        var dropped = 0
        let admission = lock.withLock { () -> MailboxState.Admission? in
            guard !listener.isCancelled, !state.isDead else { return nil }
            let admission = state.admit(copying: message, envelope, displaced: &displaced)
            if admission == .waits { noteArrival() }
            if admission == .dropped { dropped = state.dropped } else { hasReader = !waiting.isEmpty }
            return admission
        }
        guard let admission else { return false }
        if hasReader { wakeOne() }
        withExtendedLifetime(displaced) {}
        frame.pointee.envelope?.tracker?.count(admission == .dropped ? .dropped : .buffered)
        if admission == .dropped {
            frame.pointee.list.borrow { $0.faults.reportDrop(dropped, policy, list: $0, listener: listener) }
        }
        return true
    }

    /// Counts a message that was put in. Called under the lock.
    private func noteArrival() {
        holdsMessages.store(true, ordering: .releasing)
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Resumes the reader that has waited longest. Each message resumes one, however many wait in the buffer: a reader may
    /// take one message and stop. Apart from what puts a message in, because a continuation has a type
    /// of another library: a variable of it costs dozens of instructions.
    @inline(never)
    private func wakeOne() { lock.withLock { waiting.takeFirst() }?.resume() }

    override func didEnd(discards: Bool) {
        if discards {
            var discarded = MessageQueue(layout)
            lock.withLock { state.end(into: &discarded) }
            discarded.discardAll()
            discardTaken()
        }
        lock.withLock { waiting.takeAll() }.resume()
    }

    /// Discards messages that readers have taken but not read. Called once the listener is cancelled.
    func discardTaken() {
        var discarded = MessageQueue(layout)
        readLock.withLock { swap(&taken, &discarded) }
        discarded.discardAll()
    }

    /// Leaves the closure to the entry's deinit: a reader may still make an element with it.
    override func didLeaveList(_ listener: ListenerEntry) {}

    override var accounts: ListenerAccounts { lock.withLock { state.accounts(delivered: delivered) } }
}

// What a reader does.
extension SequenceMailbox {
    /// Moves the first message to uninitialised memory. Returns false if there is none. The caller releases
    /// `envelope` without the lock.
    func takeFirst(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard takesAll else {
            guard mayHoldMessages else { return false }
            // The other messages stay in the buffer, where they can still be dropped.
            return lock.withLock {
                guard state.takeFirst(into: place, &envelope) else { return false }
                countDelivered()
                if state.incoming.isEmpty { holdsMessages.store(false, ordering: .releasing) }
                return true
            }
        }
        return readLock.withLock {
            // Posters write `holdsMessages`, so it is read only if nothing is left.
            if taken.isEmpty, !mayHoldMessages || !refill() { return false }
            envelope = taken.moveFirst(to: place)
            countDelivered()
            return true
        }
    }

    /// Takes all messages. The caller holds the readers' lock.
    private func refill() -> Bool {
        lock.withLock {
            guard !state.incoming.isEmpty else {
                state.incoming.giveBack()
                holdsMessages.store(false, ordering: .releasing)
                return false
            }
            state.takeAll(into: &taken)
            hasTaken = true
            return true
        }
    }

    private func countDelivered() {
        delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private var mayHoldMessages: Bool { holdsMessages.load(ordering: .acquiring) }

    var hasWaiting: Bool {
        // Both locks are held: another reader may be moving messages from one queue to the other.
        readLock.withLock { !taken.isEmpty || lock.withLock { !state.incoming.isEmpty } }
    }

    /// Spins briefly if messages were taken since the last call. Returns whether more have arrived.
    func gather() -> Bool {
        let hadMessages = readLock.withLock {
            defer { hasTaken = false }
            return hasTaken
        }
        guard hadMessages else { return false }
        // Stops before so many wait that messages would be dropped.
        let most = min(LaneState.Taken.mostGathered, policy.limit / 2)
        Lane.gather(arrived, beyond: delivered.load(ordering: .relaxed), most: most)
        return mayHoldMessages
    }

    /// Suspends until a message may have come, the listener has ended or the task is cancelled.
    func waitForMore(of listener: ListenerEntry) async {
        let reader = lastReader.wrappingAdd(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await Waiters<Void>.suspend { continuation in
                // Whoever posts, ends the listener or cancels the task later finds this reader under the lock.
                readLock.withLock {
                    taken.isEmpty
                        && lock.withLock {
                            guard state.incoming.isEmpty, !listener.hasEnded, !Task.isCancelled else { return false }
                            waiting.add(continuation, of: reader)
                            return true
                        }
                }
            }
        } onCancel: {
            lock.withLock { waiting.take(reader) }?.resume()
        }
    }

    /// Wakes another reader for what waits: this one may have been woken for it.
    func handOn() { if hasWaiting { wakeOne() } }
}
