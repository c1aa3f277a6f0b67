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

/// The messages of a listener that cannot be called on the poster's thread: they wait for their turn in its
/// lane, or for a reader.
///
/// Guards: the lane's lock guards `state`, of a sequence `sequenceLock`. `used`, `batch` and `retainedOwner`
/// belong to the lane's drain; `batch` also to whoever holds the lock while the lane is not draining, or has
/// exchanged `Lane.isBetweenTurns` for false. Of a sequence, `batch` and `hasTaken` are guarded by
/// `readLock`. `asyncCall` is freed once no drain can begin.
@usableFromInline
final class Mailbox: ListenerCounters, @unchecked Sendable {  // guards: see above
    /// Where the messages have their turns; nil if a sequence is read.
    let lane: Lane?
    let readers: SequenceReaders?
    /// The identity of the lane's actor: only a post made there may call the listener. 1, which nobody has, where there
    /// is none.
    let home: UInt
    /// The lane, uncounted, for posts, which retain nothing.
    let laneReference: Unretained<Lane>?
    private let readersReference: Unretained<SequenceReaders>?
    let policy: BufferingPolicy
    let isUnbounded: Bool
    /// Whether the drain takes all messages at once: no one drops one that waits, and none is awaited.
    let takesAll: Bool
    let layout: MessageLayout
    private let sequenceLock = SpinLock()
    /// Whether there is a ticket in the lane, so that a call is under way or to come. Of a sequence, whether
    /// messages wait.
    let isBusy = Atomic<Bool>(false)
    @safe @exclusivity(unchecked) var state: MailboxState
    /// How many messages a sequence has been given. Written under the lock.
    let arrived = Atomic<Int>(0)
    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    /// Taken before `sequenceLock`, if both are.
    let readLock = SpinLock()
    let delivered = Atomic<Int>(0)
    /// How many of the lane's tickets have been used and not settled.
    @safe @exclusivity(unchecked) var used = 0
    @safe @exclusivity(unchecked) var batch: MessageQueue
    /// The owner, retained while a turn makes calls of the listener.
    @safe @exclusivity(unchecked) private var retainedOwner: Unretained<AnyObject>?
    /// Whether a reader has taken messages before.
    @safe @exclusivity(unchecked) var hasTaken = false
    @safe @exclusivity(unchecked) private(set) var asyncCall: AsyncListenerCall?

    init(
        _ lane: Lane?,
        readers: SequenceReaders? = nil,
        _ layout: MessageLayout,
        _ policy: BufferingPolicy,
        awaiting asyncCall: AsyncListenerCall? = nil,
        adaptor: Adaptor? = nil
    ) {
        self.lane = lane
        self.readers = readers
        home = lane?.home ?? Lane.nowhere
        // The mailbox keeps both.
        laneReference = lane.map { Unretained($0) }
        readersReference = readers.map { Unretained($0) }
        self.policy = policy
        isUnbounded = policy.kind == .unbounded
        takesAll = isUnbounded && asyncCall == nil
        self.layout = layout
        state = MailboxState(layout, policy)
        batch = MessageQueue(layout)
        self.asyncCall = asyncCall
        super.init(adaptor: adaptor)
        if !isUnbounded { lane?.smallestBuffer.min(policy.limit, ordering: .relaxed) }
    }

    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        if let laneReference { laneReference.borrow { $0.lock.withLock(body) } } else { sequenceLock.withLock(body) }
    }

    // MARK: Direct calls

    /// Whether a post of this isolation may call the listener directly: it is made on the lane's actor, and no message
    /// waits for the listener.
    func mayCall(from isolation: UInt, _ listener: ListenerEntry) -> Bool {
        guard let lane, isolation == home else { return false }
        // The drain settles what it has called at the end of its turn. This is the drain, or it is not at
        // work: the poster is on its actor.
        return !isBusy.load(ordering: .acquiring) || !lane.isCalling(listener) && accounts.waiting == 0
    }

    // MARK: Enqueueing

    /// Enqueues a copy of the message.
    ///
    /// - Returns: Whether the listener accepted it; true also if the buffer was full.
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
        let admission = withLock { () -> MailboxState.Admission? in
            // `cancel` sets the bit before it takes this lock to discard, so it finds what was enqueued
            // before.
            guard !listener.isCancelled, !state.isDead else { return nil }
            var isFirst = false
            let admission = state.admit(copying: message, envelope, isFirst: &isFirst, displaced: &displaced)
            switch admission {
            case .waits:
                if let lane { appended = lane.append(listener, self, isFirst: isFirst) } else { noteArrival() }
            case .replaces: break
            case .dropped: dropped = state.dropped
            }
            return admission
        }
        guard let admission else {
            if isAwaited { tracker?.expectOneLess() }
            return false
        }
        if !appended.isEmpty { lane?.finish(appended, listener) }
        if lane == nil, admission != .dropped { wakeReader() }
        displaced?.envelope?.tracker?.finish(.dropped)
        settle(admission, tracker, isAwaited: isAwaited)
        // Conflation is what `.newest` is for; what `.oldest` drops is missing at the end.
        if admission == .dropped { frame.pointee.list.borrow { reportDrop(dropped, in: $0, for: listener) } }
        return true
    }

    private func settle(_ admission: MailboxState.Admission, _ tracker: PostTracker?, isAwaited: Bool) {
        switch admission {
        case .waits, .replaces: if !isAwaited { tracker?.count(.completed) }
        case .dropped: if isAwaited { tracker?.finish(.dropped) } else { tracker?.count(.dropped) }
        }
    }

    /// Counted here, without the reporter's lock, which all channels share.
    private func reportDrop(_ count: Int, in list: ListenerList, for listener: ListenerEntry) {
        guard list.faults.reports(count) else { return }
        let detail = Fault.Wording.buffering(policy)
        list.faults.report(.bufferOverflow, list: list, listener: listener, count: count, detail: detail)
    }

    /// Puts a message in with which nothing travels, into a buffer without a bound.
    private func enqueueAlone(_ message: MessageAddress, for listener: ListenerEntry) -> Bool {
        guard let laneReference else { return enqueueToRead(message, for: listener) }
        return laneReference.borrow { $0.enqueue(message, listener, self) } > 0
    }

    /// Puts a message in with which nothing travels, into the unbounded buffer of a sequence, and wakes its reader.
    @inline(never)
    func enqueueToRead(_ message: MessageAddress, for listener: ListenerEntry) -> Bool {
        let isAdmitted = sequenceLock.withLock {
            guard !listener.isCancelled, !state.isDead else { return false }
            _ = state.append(copying: message)
            noteArrival()
            return true
        }
        if isAdmitted { wakeReader() }
        return isAdmitted
    }

    /// A message for readers has been let in. Under the lock.
    @inline(__always)
    private func noteArrival() {
        isBusy.store(true, ordering: .releasing)
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Wakes a reader, if there are readers and one of them waits.
    @inline(__always)
    private func wakeReader() { readersReference?.borrow { $0.wakeOne() } }

    /// Whether a post waits for this listener: not for a sequence, and not for one that waits for the poster.
    private func isListener(_ listener: ListenerEntry, awaitedBy tracker: PostTracker) -> Bool {
        lane != nil && tracker.waits(for: listener)
    }

    // MARK: Delivering

    /// Counts a message before the listener is called with it.
    @inline(__always)
    func countDelivered() { delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing) }

    /// Holds the owner until ``releaseOwner()``. False if it is gone.
    @inline(__always)
    func holdOwner(of listener: ListenerEntry) -> Bool {
        guard listener.hasOwner, retainedOwner == nil else { return true }
        retainedOwner = listener.retainedOwner
        return retainedOwner != nil
    }

    /// The owner held, or nil if there is none.
    var heldOwner: OwnerReference? { retainedOwner.map { OwnerReference($0) } }

    @inline(__always)
    func releaseOwner() {
        guard let owner = retainedOwner else { return }
        retainedOwner = nil
        owner.release()
    }

    // MARK: Ending

    override func discardWaiting() {
        if let lane { return lane.discard(self, inDrain: false) }
        var discarded = MessageQueue(layout)
        withLock { state.end(into: &discarded) }
        discarded.discardAll()
        discardTaken()
        readers?.wakeAll()
    }

    override func nothingFollows() { readers?.wakeAll() }

    /// Whether messages wait for the listener, which no post can see any more. The closure of a sequence goes with its
    /// entry: a reader may be making an element, and may have taken out what waits.
    override func takesOverBody(of listener: ListenerEntry) -> Bool {
        guard let lane else { return true }
        return lane.lock.withLock {
            guard !state.leave() else { return false }
            // Its list has kept it so far; from here on its tickets do. Balanced in ``PendingCleanup``.
            Unretained(listener).retain()
            return true
        }
    }

    override func bodyIsFree() { asyncCall = nil }

    override func waitForCall(of listener: ListenerEntry) async { await lane?.waitForCall(of: listener) }

    // MARK: Accounts

    override func accounts(countsCalls: Bool) -> ListenerAccounts? { accounts }

    var accounts: ListenerAccounts {
        withLock {
            let direct = direct.load(ordering: .relaxed)
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
