internal import Dispatch
internal import Synchronization

/// The call of an async listener, which copies the message before it first suspends.
@usableFromInline
typealias AsyncListenerCall = @Sendable (MessageAddress, AnyObject?, PostContext) async throws -> Void

@usableFromInline
enum AsyncIsolation: Sendable {
    case closure((any Actor)?)
    case owner
}

/// The messages of a listener that cannot be called on the poster's thread: they wait for a turn or a reader.
///
/// Guards: the lane's lock guards `state`, `finishWaiters` and `isFinished`. `used`, `batch` and `retainedOwner` belong
/// to the lane's drain; `batch` also to a thread that holds the lock while the lane is not draining, or has exchanged
/// `Lane.isBetweenTurns` for false. For a sequence, `sequenceLock` guards `state`, and `readLock`
/// guards `batch` and `hasTaken`. `asyncCall` is freed once no drain can begin.
@usableFromInline
final class Mailbox: ListenerCounters, @unchecked Sendable {  // guards: see above
    /// Nil for a sequence.
    let lane: Lane?
    let readers: SequenceReaders?
    /// The identity of the lane's actor, or ``Lane/nowhere``: only a post made there may call the listener.
    let home: UInt
    /// For posts, which retain nothing. The mailbox keeps the lane; 0 if there is none.
    private let laneAddress: UInt
    var laneReference: Unretained<Lane>? { @inline(__always) get { Unretained(address: laneAddress) } }
    private let readersReference: Unretained<SequenceReaders>?
    let policy: BufferingPolicy
    let isUnbounded: Bool
    /// Whether the drain takes all messages at once: no waiting one is dropped, and none is awaited.
    let takesAll: Bool
    let layout: MessageLayout
    private let sequenceLock = SpinLock()
    /// For a sequence, whether messages wait. Written under its lock.
    let holdsMessages = Atomic<Bool>(false)
    @safe @exclusivity(unchecked) var state: MailboxState
    /// The tasks that wait until everything has been delivered, and whether it has.
    @safe @exclusivity(unchecked) private var finishWaiters = Waiters<Void>()
    @safe @exclusivity(unchecked) private var isFinished = false
    /// How many messages a sequence has received. Written under the lock.
    let arrived = Atomic<Int>(0)
    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    /// Taken before `sequenceLock`, if both are.
    let readLock = SpinLock()
    let delivered = Atomic<Int>(0)
    /// How many of the lane's tickets are used but not settled.
    @safe @exclusivity(unchecked) var used = 0
    @safe @exclusivity(unchecked) var batch: MessageQueue
    /// The owner, retained while a turn calls the listener.
    @safe @exclusivity(unchecked) private var retainedOwner: Unretained<AnyObject>?
    /// Whether readers have taken messages since a reader last looked whether more come quickly.
    @safe @exclusivity(unchecked) var hasTaken = false
    @safe @exclusivity(unchecked) private(set) var asyncCall: AsyncListenerCall?
    /// The calls of an async listener that does not wait for one after the other.
    let calls: RunningCalls?

    init(
        _ lane: Lane?,
        readers: SequenceReaders? = nil,
        _ layout: MessageLayout,
        _ policy: BufferingPolicy,
        awaiting asyncCall: AsyncListenerCall? = nil,
        _ calls: RunningCalls? = nil,
        adaptor: Adaptor? = nil
    ) {
        self.lane = lane
        self.readers = readers
        home = lane?.home ?? Lane.nowhere
        laneAddress = lane.map { Unretained($0).address } ?? 0
        // The mailbox keeps them alive.
        readersReference = readers.map { Unretained($0) }
        self.policy = policy
        isUnbounded = policy.kind == .unbounded
        takesAll = isUnbounded && asyncCall == nil
        self.layout = layout
        state = MailboxState(layout, policy)
        batch = MessageQueue(layout)
        self.asyncCall = asyncCall
        self.calls = calls
        super.init(adaptor: adaptor)
        if !isUnbounded { lane?.smallestBuffer.min(policy.limit, ordering: .relaxed) }
    }

    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        if let laneReference { laneReference.borrow { $0.lock.withLock(body) } } else { sequenceLock.withLock(body) }
    }

    /// The lane of a listener that a post may call: its home is an actor.
    @inline(__always)
    var certainLane: Unretained<Lane> { Unretained(certain: laneAddress) }

    /// Whether a drain is due or under way, or messages wait for a reader.
    @inline(__always)
    var isBusy: Bool {
        laneReference?.borrow { $0.isActive.load(ordering: .acquiring) } ?? holdsMessages.load(ordering: .acquiring)
    }

    /// Returns whether a post may call the listener: made on the lane's actor, while no message waits.
    func mayCall(from isolation: UInt, _ listener: ListenerEntry) -> Bool {
        guard let lane, isolation == home else { return false }
        // Either this is the drain, or the drain is not running, because the poster is on its actor.
        return !isBusy || !lane.isCalling(listener) && accounts.waiting == 0
    }

    /// Enqueues a copy of the message. Returns false if the listener has ended, not if the buffer was full.
    func enqueue(_ frame: FrameReference, for listener: ListenerEntry) -> Bool {
        let message = frame.pointee.message
        if isUnbounded, !frame.pointee.carriesMore { return enqueueAlone(message, for: listener) }
        let tracker = frame.pointee.envelope?.tracker
        let isAwaited = tracker.map { isListener(listener, awaitedBy: $0) } ?? false
        let envelope = frame.pointee.envelopeToKeep(withTracker: isAwaited)
        if isAwaited { tracker?.expectOne() }
        var displaced: DisplacedMessage?
        var appended: LaneState.Appended = []
        var dropped = 0
        var replaced: Task<Void, Never>?
        let admission = withLock { () -> MailboxState.Admission? in
            // `cancel` sets the bit before it takes this lock to discard, so it finds what is enqueued.
            guard !listener.isCancelled, !state.isDead else { return nil }
            if ignoresWhileBusy, state.tickets > 0 {
                state.drop()
                return .dropped
            }
            replaced = calls?.replace()
            let admission = state.admit(copying: message, envelope, displaced: &displaced)
            switch admission {
            case .waits: if let lane { appended = lane.append(listener, self) } else { noteArrival() }
            case .replaces: break
            case .dropped: dropped = state.dropped
            }
            return admission
        }
        guard let admission else {
            if isAwaited { tracker?.expectOneLess() }
            return false
        }
        replaced?.cancel()
        if !appended.isEmpty { lane?.finish(appended, listener) }
        if lane == nil, admission != .dropped { wakeReader() }
        displaced?.envelope?.tracker?.finish(.dropped)
        settle(admission, tracker, isAwaited: isAwaited)
        // Conflation is what `.newest` is for; what `.oldest` drops is missing at the end.
        if admission == .dropped, !ignoresWhileBusy {
            frame.pointee.list.borrow { reportDrop(dropped, in: $0, for: listener) }
        }
        return true
    }

    var ignoresWhileBusy: Bool { calls?.overlapping.kind == .ignore }

    private func settle(_ admission: MailboxState.Admission, _ tracker: PostTracker?, isAwaited: Bool) {
        switch admission {
        case .waits, .replaces: if !isAwaited { tracker?.count(lane == nil ? .buffered : .completed) }
        case .dropped: if isAwaited { tracker?.finish(.dropped) } else { tracker?.count(.dropped) }
        }
    }

    /// The count comes from the mailbox, to avoid the reporter's lock, which all channels share.
    private func reportDrop(_ count: Int, in list: ListenerList, for listener: ListenerEntry) {
        guard list.faults.reports(count) else { return }
        let detail = Fault.Wording.buffering(policy)
        list.faults.report(.bufferOverflow, list: list, listener: listener, count: count, detail: detail)
    }

    /// Enqueues a message without an envelope in an unbounded buffer.
    private func enqueueAlone(_ message: MessageAddress, for listener: ListenerEntry) -> Bool {
        guard let laneReference else { return enqueueToRead(message, for: listener) }
        return laneReference.borrow { $0.enqueue(message, listener, self) } > 0
    }

    /// Enqueues a message without an envelope in a sequence's unbounded buffer, and wakes a reader.
    @inline(never)
    func enqueueToRead(_ message: MessageAddress, for listener: ListenerEntry) -> Bool {
        let isAdmitted = sequenceLock.withLock {
            guard !listener.isCancelled, !state.isDead else { return false }
            state.append(copying: message)
            noteArrival()
            return true
        }
        if isAdmitted { wakeReader() }
        return isAdmitted
    }

    /// Counts a message enqueued for readers. Called under the lock.
    @inline(__always)
    private func noteArrival() {
        holdsMessages.store(true, ordering: .releasing)
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    @inline(__always)
    private func wakeReader() { readersReference?.borrow { $0.wakeOne() } }

    /// Returns whether the post waits for this listener: not for a sequence or one that waits for the poster.
    private func isListener(_ listener: ListenerEntry, awaitedBy tracker: PostTracker) -> Bool {
        lane != nil && tracker.waits(for: listener)
    }

    /// Counts a message before the listener is called with it.
    @inline(__always)
    func countDelivered() { delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing) }

    /// Retains the owner until ``releaseOwner()``. Returns false if it was deallocated.
    @inline(__always)
    func holdOwner(of listener: ListenerEntry) -> Bool {
        guard listener.hasOwner, retainedOwner == nil else { return true }
        retainedOwner = listener.retainedOwner
        return retainedOwner != nil
    }

    var heldOwner: OwnerReference? { retainedOwner.map { OwnerReference($0) } }

    @inline(__always)
    func releaseOwner() {
        guard let owner = retainedOwner else { return }
        retainedOwner = nil
        owner.release()
    }

    override func discardWaiting() {
        if let lane {
            lane.discard(self, inDrain: false)
            withLock { calls?.replace() }?.cancel()
            return
        }
        var discarded = MessageQueue(layout)
        withLock { state.end(into: &discarded) }
        discarded.discardAll()
        discardTaken()
        readers?.wakeAll()
    }

    override func nothingFollows() { readers?.wakeAll() }

    /// The listener has left its list, and no post can see it. Returns whether messages still wait for it, which then
    /// keep its closure. That of a sequence is freed with its entry, because a reader may still make an element with
    /// it.
    override func takesOverBody(of listener: ListenerEntry) -> Bool {
        guard let lane else { return true }
        return lane.lock.withLock {
            guard !state.leave() else { return false }
            // Its tickets keep it alive from here on, as its list did before. Balanced in ``PendingCleanup``.
            Unretained(listener).retain()
            return true
        }
    }

    override func bodyIsFree() {
        super.bodyIsFree()
        asyncCall = nil
        let resumed = withLock {
            isFinished = true
            return finishWaiters.take { _ in true }
        }
        resumed.resume()
    }

    /// Once no post can see the listener and no ticket is left, its closure is freed.
    override func waitUntilFinished() async {
        guard lane != nil else { return }
        await Waiters<Void>.suspend { continuation in
            withLock {
                if !isFinished { finishWaiters.add(continuation, until: ()) }
                return !isFinished
            }
        }
        await waitForCalls(most: 0)
    }

    override func waitForCall(of listener: ListenerEntry) async {
        await lane?.waitForCall(of: listener)
        await waitForCalls(most: 0)
    }

    /// Suspends until at most so many calls run that may overlap.
    func waitForCalls(most: Int) async {
        guard let calls else { return }
        await Waiters<Int>.suspend { continuation in withLock { calls.keepsWaiting(continuation, most: most) } }
    }

    override func accounts(countsCalls: Bool) -> ListenerAccounts? { accounts }

    var accounts: ListenerAccounts {
        withLock {
            let direct = directCalls.load(ordering: .relaxed)
            let delivered = delivered.load(ordering: .acquiring)
            let rest = state.posted - delivered - state.dropped
            return ListenerAccounts(
                posted: state.posted + direct,
                delivered: delivered + direct,
                waiting: state.isDead ? 0 : rest,
                dropped: state.dropped,
                discarded: state.isDead ? rest : 0
            )
        }
    }
}

extension MessageQueue {
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
