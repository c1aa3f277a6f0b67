internal import Dispatch
internal import Synchronization

/// The call of an async listener: the message, the owner, the context. It copies the message before it first
/// suspends.
@usableFromInline
typealias AsyncListenerCall = @Sendable (MessageAddress, AnyObject?, PostContext) async throws -> Void

/// Where an async closure begins to run.
@usableFromInline
enum AsyncIsolation: Sendable {
    case closure((any Actor)?)
    case owner
}

/// The FIFO of a listener that cannot be called on the poster's thread.
///
/// One drain job empties it, however long the burst. While it holds messages, or one is being delivered,
/// `isBusy` is set, and a post that could call the listener at once enqueues instead.
///
/// Guards: `lock` guards `incoming`, `phase`, `waiters`, `hasLeft` and the writing of `posted` and `dropped`.
/// `batch` belongs to the drain, of which there is one at a time (`phase`), or to the readers of a sequence,
/// under their `readLock`. `delivered` is written by the drain, `direct` by direct calls, `missed` by posts
/// while the listener is paused.
@usableFromInline
final class Mailbox: @unchecked Sendable {  // guards: see above
    /// Where the messages are delivered.
    enum Target {
        /// On the poster's thread: nothing waits. Counts calls for diagnostics.
        case direct
        /// The same, for a responder: the asker runs it in a task, and reports its begin and end.
        case responder(ResponderCalls)
        /// On the actor to which the listener's closure is isolated; the closure retains it.
        case actor(any Actor)
        /// On the owner, an actor.
        case owner
        case queue(DispatchQueue)
        /// By awaiting an async closure, one call at a time.
        case async(AsyncIsolation)
        /// By the readers of a sequence.
        case consumer(SequenceReaders)
        /// On the poster's thread, or the thread that is delivering already.
        case inline
    }

    enum Phase { case idle, scheduled, draining }

    let target: Target
    /// Whether readers of a sequence take the messages: there is no drain.
    var isConsumed: Bool { readers != nil }
    /// Those of `target`, which keeps them alive.
    let readers: Unretained<SequenceReaders>?
    let isUnbounded: Bool
    /// The address of the actor of `target`, which the closure retains; 0 if there is none.
    private let actorAddress: UInt
    private let isInline: Bool
    let layout: MessageLayout
    let policy: BufferingPolicy
    let lock = SpinLock()
    /// Taken before `lock`, if both are.
    let readLock = SpinLock()
    let isBusy = Atomic<Bool>(false)
    let posted = Atomic<Int>(0)
    let dropped = Atomic<Int>(0)
    @safe @exclusivity(unchecked) var incoming: MessageQueue
    @safe @exclusivity(unchecked) var phase = Phase.idle
    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    let delivered = Atomic<Int>(0)
    @safe @exclusivity(unchecked) var batch: MessageQueue
    /// Whether the drain under way, or a reader, has taken messages before.
    @safe @exclusivity(unchecked) var hasTaken = false

    let direct = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)
    /// The tasks that wait for the drain to end.
    @safe @exclusivity(unchecked) var waiters: [CheckedContinuation<Void, Never>] = []
    /// The entry, once no post can see it: its closure is freed when the mailbox is idle.
    @safe @exclusivity(unchecked) var hasLeft = false
    /// The closure of an async listener. Freed as an entry's body is: once no drain can begin.
    @safe @exclusivity(unchecked) private(set) var asyncCall: AsyncListenerCall?
    /// The owner was deallocated, or the listener was cancelled: nothing is delivered any more.
    let isDead = Atomic<Bool>(false)

    init(
        _ target: Target,
        _ layout: MessageLayout,
        _ policy: BufferingPolicy,
        awaiting asyncCall: AsyncListenerCall? = nil
    ) {
        self.asyncCall = asyncCall
        self.target = target
        readers = if case .consumer(let readers) = target { Unretained(readers) } else { nil }
        isUnbounded = policy.kind == .unbounded
        isInline = if case .inline = target { true } else { false }
        actorAddress = if case .actor(let actor) = target { Unretained<AnyObject>(actor).address } else { 0 }
        self.layout = layout
        self.policy = policy
        incoming = MessageQueue(layout)
        batch = MessageQueue(layout)
    }

    // MARK: Direct calls

    /// Whether a post of this isolation may call the listener directly.
    func mayCall(from isolation: UInt, owner: AnyObject?) -> Bool {
        switch target {
        case .direct, .responder: return true
        case .actor: guard isolation == actorAddress else { return false }
        case .owner:
            guard let owner, isolation == Unretained(owner).address else { return false }
        case .inline: break
        case .queue, .async, .consumer: return false
        }
        return !isBusy.load(ordering: .acquiring)
    }

    /// A fast check for listeners isolated to an actor, or called by one post at a time (`inline`). False is
    /// inconclusive.
    @inline(__always)
    func isFree(for isolation: UInt) -> Bool {
        (isInline || isolation != 0 && isolation == actorAddress) && !isBusy.load(ordering: .acquiring)
    }

    /// Counts a call that ``isFree(for:)`` allowed: there is one at a time.
    @inline(__always)
    func countLoneCall() { direct.store(direct.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    func countDirectCall() { direct.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a message that was posted while the listener was paused.
    func countMissed() { missed.wrappingAdd(1, ordering: .relaxed) }

    // MARK: Enqueueing

    private enum Enqueued { case nothing, schedule, wake, overflow, refused }

    /// Enqueues a copy of the message.
    ///
    /// - Returns: Whether the listener accepted it; true also if the buffer was full.
    func enqueue(_ message: MessageAddress, _ frame: FrameReference, for listener: ListenerEntry) -> Bool {
        if isUnbounded, !frame.pointee.carriesMore { return enqueueAlone(message, for: listener) }
        let tracker = frame.pointee.envelope?.tracker
        let isAwaited = tracker.map { isListener(listener, awaitedBy: $0) } ?? false
        let envelope = frame.pointee.envelopeToKeep(withTracker: isAwaited)
        if isAwaited { tracker?.expectOne() }
        var displaced: KeptEnvelope?
        let outcome = lock.withLock { () -> Enqueued in
            // `cancel` sets the bit before it takes this lock to discard, so it finds what was enqueued
            // before.
            guard !listener.isCancelled, !isDead.load(ordering: .relaxed) else { return .refused }
            posted.store(posted.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
            var overflows = false
            if policy.kind != .unbounded, incoming.count >= policy.limit {
                dropped.store(dropped.load(ordering: .relaxed) + 1, ordering: .relaxed)
                overflows = true
                if policy.kind == .oldest {
                    displaced = KeptEnvelope(message: nil, envelope: envelope)
                    return .overflow
                }
                displaced = KeptEnvelope(takingFirstOf: &incoming)
            }
            incoming.append(copying: message, envelope)
            isBusy.store(true, ordering: .releasing)
            if overflows { return .overflow }
            guard phase == .idle else { return .nothing }
            if isConsumed { return .wake }
            phase = .scheduled
            return .schedule
        }
        if let tracker, !isAwaited, outcome != .refused {
            tracker.count(outcome == .overflow && policy.kind == .oldest ? .dropped : .completed)
        }
        switch outcome {
        case .nothing: break
        case .schedule: schedule(listener)
        case .wake: wakeReader()
        case .overflow:
            displaced?.envelope?.tracker?.finish(.dropped)
            wakeReader()
            // Conflation is what `.newest` is for; what `.oldest` drops is missing at the end.
            guard policy.kind == .oldest else { break }
            let list = frame.pointee.list.object
            reportDrop(in: list, for: listener)
        case .refused:
            if isAwaited { tracker?.expectOneLess() }
            return false
        }
        return true
    }

    /// Counts here, without the reporter's lock, which all channels share.
    private func reportDrop(in list: ListenerList, for listener: ListenerEntry) {
        let count = dropped.load(ordering: .relaxed)
        guard list.faults.hears(count) else { return }
        let detail = "buffering \(policy)"
        list.faults.report(.bufferOverflow, list: list, listener: listener, count: count, detail: detail)
    }

    /// Puts a message in with which nothing travels, into a buffer without a bound: what nearly every post
    /// does.
    @inline(__always)
    func enqueueAlone(_ message: MessageAddress, for listener: ListenerEntry) -> Bool {
        var isFirst = false
        let isIn = lock.withLock {
            guard !listener.isCancelled, !isDead.load(ordering: .relaxed) else { return false }
            posted.store(posted.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
            incoming.append(copying: message)
            // Where a drain is under way it has been set.
            guard phase == .idle else { return true }
            isBusy.store(true, ordering: .releasing)
            isFirst = true
            if !isConsumed { phase = .scheduled }
            return true
        }
        if isFirst { hasMessage(for: listener) }
        return isIn
    }

    /// Wakes a reader, if there are readers and one of them waits.
    @inline(__always)
    private func wakeReader() { readers?.borrow { $0.wakeOne() } }

    /// Has the message just enqueued delivered: by a reader, or by a drain.
    @inline(__always)
    private func hasMessage(for listener: ListenerEntry) {
        if readers != nil { wakeReader() } else { schedule(listener) }
    }

    /// Whether a post waits for this listener: not for a sequence, and not for one inside which the poster
    /// itself runs.
    private func isListener(_ listener: ListenerEntry, awaitedBy tracker: PostTracker) -> Bool {
        if isConsumed { return false }
        return tracker.chain?.waits(for: listener) != true
    }

    // MARK: Ending

    /// Discards what waits: the listener was cancelled or its owner was deallocated.
    func discardWaiting(of listener: ListenerEntry) {
        var discarded: MessageQueue?
        let isIdle = lock.withLock {
            isDead.store(true, ordering: .sequentiallyConsistent)
            guard !incoming.isEmpty else { return false }
            discarded = incoming.takeAll()
            if phase != .draining { isBusy.store(false, ordering: .releasing) }
            return hasLeft && phase == .idle && !isConsumed
        }
        discarded?.discardAll()
        if isIdle { listener.freeBody() }
        if let readers {
            discardTaken()
            readers.borrow { $0.wakeAll() }
        }
    }

    /// The channel was deallocated: what waits is still delivered.
    func channelHasGone() { readers?.borrow { $0.wakeAll() } }

    /// No post can see the listener any more: its closure is freed once nothing waits for it. That of a
    /// sequence goes with its entry: a reader may be making an element, and may have taken out what waits.
    func listenerHasLeft(_ listener: ListenerEntry) {
        let isIdle = lock.withLock {
            hasLeft = true
            let isIdle = phase == .idle && incoming.isEmpty
            // Nothing may be enqueued after the closure is freed, by an owner that registers in its deinit.
            if isIdle, !isConsumed { isDead.store(true, ordering: .sequentiallyConsistent) }
            return isIdle
        }
        if isIdle, !isConsumed { listener.freeBody() }
    }

    /// Frees what an async closure holds; for ``ListenerEntry/freeBody()``.
    func freeAsyncCall() { asyncCall = nil }

    /// Suspends until no call of the listener runs.
    func waitForDrain() async {
        if case .responder(let calls) = target { return await calls.wait() }
        await withCheckedContinuation { continuation in
            let isDraining = lock.withLock {
                guard phase == .draining else { return false }
                waiters.append(continuation)
                return true
            }
            if !isDraining { continuation.resume() }
        }
    }

    // MARK: Accounts

    /// What became of the messages posted so far: posted = delivered + waiting + dropped + discarded.
    struct Accounts {
        let posted, delivered, waiting, dropped, discarded: Int
    }

    var accounts: Accounts {
        lock.withLock {
            let direct = direct.load(ordering: .relaxed)
            let delivered = delivered.load(ordering: .acquiring)
            let posted = posted.load(ordering: .relaxed)
            let dropped = dropped.load(ordering: .relaxed)
            let rest = posted - delivered - dropped
            let isDead = isDead.load(ordering: .relaxed)
            return Accounts(
                posted: posted + direct,
                delivered: delivered + direct,
                waiting: isDead ? 0 : rest,
                dropped: dropped,
                discarded: isDead ? rest : 0
            )
        }
    }

    /// Messages posted while the listener was paused.
    var missedCount: Int { missed.load(ordering: .relaxed) }
}

/// 128 unused bytes: two cache lines, which processors fetch in pairs.
private struct Padding {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    private let more: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}

/// A message removed from a queue to be destroyed without the lock, and its envelope.
private struct KeptEnvelope {
    let message: KeptMessage?
    let envelope: Envelope?

    init(message: KeptMessage?, envelope: Envelope?) {
        self.message = message
        self.envelope = envelope
    }

    init(takingFirstOf queue: inout MessageQueue) {
        var envelope: Envelope?
        message = KeptMessage(queue.layout) { envelope = queue.moveFirst(to: $0) }
        self.envelope = envelope
    }
}

extension MessageQueue {
    /// Empties the queue into the one returned.
    mutating func takeAll() -> MessageQueue {
        var taken = MessageQueue(layout)
        swap(&self, &taken)
        return taken
    }

    /// Destroys every message and reports it as discarded.
    mutating func discardAll() {
        while !isEmpty {
            // The slot keeps the envelope until `removeFirst`.
            let tracker = peek().envelope?.object.tracker
            removeFirst()
            tracker?.finish(.discarded)
        }
    }
}
