internal import Synchronization

/// The messages that tasks read. Messages of a sequence wait here for a reader; for an async listener, a task is
/// started. This class is the incoming side. `Engine/Sequences` contains the code of a sequence's readers, and
/// ``AsyncCalls`` that of the readers that call a listener.
///
/// Guards: `lock` guards `state`, `backlog`, `waiting` and the contents of `calls`; `readLock` guards `taken` and
/// `hasTaken`. A thread that needs both takes `readLock` first. From an unbounded buffer, the reader of a sequence
/// takes all messages at once. So readers and posters seldom contend, and what they write for each message is on
/// different cache lines. A task that calls a listener takes one message at a time.
@usableFromInline
final class SequenceMailbox: ListenerRoute, @unchecked Sendable {  // guards: see above
    private static let lastNumber = Atomic<Int>(0)

    /// Identifies the sequence for which this was made, so that no other one reads its messages. 0 for an async
    /// listener.
    let number: Int
    let layout: MessageLayout
    private let policy: BufferingPolicy
    private let lock = SpinLock()
    @safe @exclusivity(unchecked) private var state: MailboxState
    /// The calls of an async listener; nil for a sequence.
    let calls: AsyncCalls?
    private var backlog = Backlog()
    /// The readers that wait, each with its own number.
    private var waiting = WaitingReaders()
    /// Whether `state` may hold messages: stays true until a reader finds none. Written under the lock.
    private let holdsMessages = Atomic<Bool>(false)
    /// How many messages have been put in, not counting those that replaced others. Written under the lock.
    private let arrived = Atomic<Int>(0)
    // Keeps what readers write for each message off the cache lines that posters write.
    private let padding = Padding()
    /// Whether a reader takes all messages at once. Stored here, because readers use it for each message; posters use
    /// `policy`.
    private let takesAll: Bool
    private let readLock = SpinLock()
    @safe @exclusivity(unchecked) private var taken: MessageQueue
    private let delivered = Atomic<Int>(0)
    /// Whether readers have taken messages since a reader last called `gather()`.
    private var hasTaken = false
    private let lastReader = Atomic<Int>(0)

    init(
        _ layout: MessageLayout,
        _ buffering: BufferingPolicy,
        _ calls: AsyncCalls? = nil,
        number: Int = 0,
        adaptor: Adaptor?
    ) {
        let policy = calls?.buffering(buffering) ?? buffering
        self.number = number
        self.layout = layout
        self.policy = policy
        self.calls = calls
        takesAll = policy.kind == .unbounded && calls == nil
        state = MailboxState(layout, policy, dropsWhileBusy: calls?.ignores ?? false)
        taken = MessageQueue(layout)
        super.init(adaptor: adaptor)
    }

    static func makeNumber() -> Int { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Whether a message may be waiting. If so, its reader checks whether the owner is alive.
    var isBusy: Bool { mayHoldMessages }

    func withLock<Result>(_ body: () -> Result) -> Result { lock.withLock(body) }

    /// Enqueues a copy of the message. Returns 1, even if the buffer was full; 0 if the listener has ended.
    func enqueue(_ frame: FrameReference, for listener: ListenerEntry) -> Int {
        guard policy.kind == .unbounded, !frame.pointee.carriesMore else { return offer(frame, to: listener) }
        let message = frame.pointee.message
        var arrival = Arrival()
        let isIn = lock.withLock {
            // `cancel` sets the bit before it takes this lock to discard messages, so it finds what is enqueued here.
            guard !listener.isCancelled, !state.isDead else { return false }
            state.append(copying: message)
            arrival = noteArrival(for: listener)
            return true
        }
        if !arrival.isEmpty { finish(arrival, listener) }
        return isIn ? 1 : 0
    }

    /// Enqueues a message and what travels with it, if the policy has room.
    @inline(never)
    private func offer(_ frame: FrameReference, to listener: ListenerEntry) -> Int {
        let message = frame.pointee.message
        // A post does not wait for the reader of a sequence.
        let isCalled = calls != nil
        let isReported = calls?.ignores != true
        return frame.offer(to: listener, isCalled: isCalled, policy, isReported: isReported) { envelope, displaced in
            var arrival = Arrival()
            var replaced: Task<PostTracker.Outcome, Never>?
            let admission = lock.withLock {
                replaced = calls?.replace()
                let admission = state.admit(for: listener, copying: message, envelope, displaced: &displaced)
                // A message that replaces another also takes over its reader.
                if admission == .waits { arrival = noteArrival(for: listener) }
                return (admission, dropped: state.dropped)
            }
            replaced?.cancel()
            if !arrival.isEmpty { finish(arrival, listener) }
            return admission
        }
    }

    /// Counts a message that was put in. Called under the lock.
    private func noteArrival(for listener: ListenerEntry) -> Arrival {
        holdsMessages.store(true, ordering: .releasing)
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        if state.isLookDue { listener.lookForOwner() }
        var arrival = backlog.note(state.incoming.count)
        arrival.starts = calls?.needReader() ?? !waiting.isEmpty
        return arrival
    }

    /// Finds a reader for a message. Each message resumes or starts one, however many wait in the buffer, because a
    /// reader may take one message and stop. Separate from the code that puts a message in, because a continuation's
    /// type is from another library, and a variable of such a type costs dozens of instructions.
    @inline(never)
    private func finish(_ arrival: Arrival, _ listener: ListenerEntry) {
        if arrival.starts {
            if let calls { calls.startReader(of: self, listener) } else { wakeOne() }
        }
        if arrival.isBacklog { listener.reportBacklog(lock.withLock { state.incoming.count }) }
    }

    private func wakeOne() { lock.withLock { waiting.takeFirst() }?.resume() }

    override func didEnd(discards: Bool) {
        if discards {
            var discarded = MessageQueue(layout)
            var replaced: Task<PostTracker.Outcome, Never>?
            lock.withLock {
                state.end(into: &discarded, keepsTickets: false)
                replaced = calls?.replace()
            }
            replaced?.cancel()
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

    /// Frees the closure of an async listener, unless a reader is left, which then frees it when it ends. The closure
    /// of a sequence is left to the entry's deinit, because a reader may still make an element with it.
    override func didLeaveList(_ listener: ListenerEntry) {
        guard let calls else { return }
        let isUnused = lock.withLock { state.leave() && calls.hasNoReader }
        if isUnused { listener.freeBody() }
    }

    override func didFreeBody() {
        super.didFreeBody()
        guard let calls else { return }
        let (body, resumed) = lock.withLock { calls.free() }
        withExtendedLifetime(consume body) {}
        resumed.resume()
    }

    override func waitForCalls(of listener: ListenerEntry, afterDelivery: Bool) async {
        guard let calls else { return }
        await Waiters<AsyncCalls.End>.suspend { continuation in
            lock.withLock {
                calls.wait(continuation, until: afterDelivery ? .listener : .calls, isCalling: state.isCalling)
            }
        }
    }

    override var accounts: ListenerAccounts { lock.withLock { state.accounts(delivered: delivered) } }
}

// What the reader of a sequence does.
extension SequenceMailbox {
    /// Moves the first message to uninitialized memory. Returns false if there is none. The caller releases `envelope`
    /// without the lock.
    func takeFirst(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard takesAll else {
            guard mayHoldMessages else { return false }
            // The other messages stay in the buffer, where they can still be dropped.
            return lock.withLock {
                guard state.takeFirst(into: place, &envelope) else { return false }
                countDelivered()
                if state.incoming.isEmpty { noteEmpty() }
                return true
            }
        }
        return readLock.withLock {
            // Posters write `holdsMessages`, so it is read only when nothing is left.
            if taken.isEmpty, !mayHoldMessages || !refill() { return false }
            envelope = taken.moveFirst(to: place)
            countDelivered()
            return true
        }
    }

    /// Takes all messages. Called under `readLock`.
    private func refill() -> Bool {
        lock.withLock {
            guard !state.incoming.isEmpty else {
                state.incoming.giveBack()
                noteEmpty()
                return false
            }
            state.takeAll(into: &taken)
            hasTaken = true
            return true
        }
    }

    /// Counts a message that was read. Called under one of the two locks, always the same.
    private func countDelivered() {
        delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private var mayHoldMessages: Bool { holdsMessages.load(ordering: .acquiring) }

    var hasWaiting: Bool {
        // Both locks are held: another reader may be moving messages from one queue to the other.
        readLock.withLock { !taken.isEmpty || lock.withLock { !state.incoming.isEmpty } }
    }

    /// Spins briefly if messages have been taken since the last call. Returns whether more may have arrived.
    func gather() -> Bool {
        let hadMessages = readLock.withLock {
            defer { hasTaken = false }
            return hasTaken
        }
        guard hadMessages else { return false }
        // Stops before so many messages wait that some would be dropped.
        let most = min(LaneState.Taken.mostGathered, policy.limit / 2)
        Lane.gather(arrived, beyond: delivered.load(ordering: .relaxed), most: most)
        return mayHoldMessages
    }

    /// Suspends until a message may have come, the listener has ended or the task is cancelled.
    func waitForMore(of listener: ListenerEntry) async {
        let reader = lastReader.wrappingAdd(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await Waiters<Void>.suspend { continuation in
                // A thread that posts, ends the listener or cancels the task later finds this reader, under the lock.
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

// What a task that calls an async listener does.
extension SequenceMailbox {
    /// Moves the first message to uninitialized memory, for a call. Returns false if there is none, and the reader
    /// ends. The caller releases `envelope` without the lock.
    func takeForCall(
        _ calls: AsyncCalls,
        into place: MessageAddress,
        _ envelope: inout Envelope?,
        of listener: ListenerEntry
    ) -> Bool {
        let (isTaken, isUnused) = lock.withLock {
            guard state.takeFirst(into: place, &envelope) else { return (false, endReader(calls)) }
            if state.incoming.isEmpty { noteEmpty() }
            calls.begin()
            return (true, false)
        }
        if isUnused { listener.freeBody() }
        return isTaken
    }

    /// Counts a call, before it begins. Atomic, because several calls may begin at once.
    func countCall() { delivered.wrappingAdd(1, ordering: .releasing) }

    /// Settles a call that has ended. Returns whether it was replaced, and whether the reader continues.
    func endCall(_ calls: AsyncCalls, of listener: ListenerEntry) -> (isReplaced: Bool, goesOn: Bool) {
        let (ended, isReplaced, goesOn, isUnused) = lock.withLock {
            _ = state.settle(1)
            let isReplaced = calls.isReplaced
            let ended = calls.end(isLast: !state.isCalling)
            let goesOn = !state.incoming.isEmpty
            return (ended, isReplaced, goesOn, !goesOn && endReader(calls))
        }
        // First, because a task that waits for the call may expect what the closure holds to have been released.
        if isUnused { listener.freeBody() }
        ended.waiting.resume()
        return (isReplaced, goesOn)
    }

    /// Ends a reader, because nothing waits. Returns whether to free the closure. Called under the lock.
    private func endReader(_ calls: AsyncCalls) -> Bool {
        calls.readerEnds()
        return calls.hasNoReader && state.hasLeft && state.leave()
    }

    /// Notes that nothing waits. Called under the lock.
    private func noteEmpty() {
        backlog.reset()
        holdsMessages.store(false, ordering: .releasing)
    }
}
