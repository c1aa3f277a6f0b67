internal import Synchronization

/// The messages of a listener that cannot be called on the poster's thread. They wait for the listener's turn in a
/// lane.
///
/// Guards: the lane's lock guards `state`, `finishWaiters` and `isFinished`. `used`, `batch` and `retainedOwner` belong
/// to the lane's drain. `batch` may also be used by a thread that holds the lock, if the lane is not draining or the
/// thread has exchanged `Lane.isBetweenTurns` for false. The comment on `holdsBuffer` says who uses it.
@usableFromInline
final class Mailbox: ListenerRoute, @unchecked Sendable {  // guards: see above
    let lane: Lane
    /// The lane, for posts, which retain nothing. The mailbox keeps it alive.
    let laneReference: Unretained<Lane>
    /// The identity of the lane's actor, or ``Lane/nowhere``. Only a post made on that actor may call the listener.
    let home: UInt
    let policy: BufferingPolicy
    /// Whether the buffer drops nothing. If so, the drain takes all waiting messages at once.
    let isUnbounded: Bool
    let layout: MessageLayout
    @safe @exclusivity(unchecked) var state: MailboxState
    /// The tasks that wait until everything has been delivered; `isFinished` says whether it has.
    private var finishWaiters = Waiters<Void>()
    private var isFinished = false
    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    let delivered = Atomic<Int>(0)
    /// How many of the listener's tickets are used but not settled.
    @safe @exclusivity(unchecked) var used = 0
    @safe @exclusivity(unchecked) var batch: MessageQueue
    /// The owner, retained while a turn calls the listener.
    @safe @exclusivity(unchecked) private var retainedOwner: Unretained<AnyObject>?
    /// Whether the lane counts the buffer's limit. Used by the initializer, by the one thread that frees the closure,
    /// and by the deinit.
    private var holdsBuffer: Bool

    init(_ lane: Lane, _ layout: MessageLayout, _ policy: BufferingPolicy, adaptor: Adaptor? = nil) {
        self.lane = lane
        laneReference = Unretained(lane)
        home = lane.home
        self.policy = policy
        isUnbounded = policy.kind == .unbounded
        self.layout = layout
        state = MailboxState(layout, policy)
        batch = MessageQueue(layout)
        holdsBuffer = !isUnbounded
        super.init(adaptor: adaptor)
        if !isUnbounded { lane.noteBuffer(of: policy.limit) }
    }

    // `didFreeBody` has not been called if the listener was never put into a list, or was deallocated together with its
    // list.
    deinit { forgetBuffer() }

    /// Tells the lane, once, that nothing more will be put into the buffer.
    private func forgetBuffer() {
        guard holdsBuffer else { return }
        holdsBuffer = false
        lane.forgetBuffer(of: policy.limit)
    }

    func withLock<Result>(_ body: () -> Result) -> Result { laneReference.borrow { $0.lock.withLock(body) } }

    /// Whether a drain of the lane is scheduled or running.
    var isBusy: Bool { laneReference.borrow { $0.isActive.load(ordering: .acquiring) } }

    /// Returns whether a post may call the listener: if it is made on the lane's actor, and no message waits for the
    /// listener.
    func mayCall(from isolation: UInt, _ listener: ListenerEntry) -> Bool {
        guard isolation == home else { return false }
        // The poster is on the lane's actor, so either this is inside the drain, or the drain is not running.
        return !isBusy || !lane.isCalling(listener) && accounts.waiting == 0
    }

    /// Enqueues a copy of the message and what travels with it, if the policy has room. Returns 1, even if the buffer
    /// was full; 0 if the listener has ended.
    @inline(never)
    func offer(_ frame: FrameReference, to listener: ListenerEntry) -> Int {
        let message = frame.pointee.message
        return frame.offer(to: listener, isCalled: true, policy, isReported: true) { envelope, displaced in
            var arrival = Arrival()
            let admission = withLock {
                let admission = state.admit(for: listener, copying: message, envelope, displaced: &displaced)
                if admission == .waits { arrival = lane.append(listener, self) }
                return (admission, dropped: state.dropped)
            }
            if !arrival.isEmpty { lane.finish(arrival, listener) }
            return admission
        }
    }

    /// Counts a message. Called before the listener is.
    func countDelivered() { delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .releasing) }

    /// Retains the owner until ``releaseOwner()``. Returns false if it was deallocated.
    func holdOwner(of listener: ListenerEntry) -> Bool {
        guard listener.hasOwner, retainedOwner == nil else { return true }
        retainedOwner = listener.retainOwner()
        return retainedOwner != nil
    }

    var heldOwner: OwnerReference? { retainedOwner.map { OwnerReference($0) } }

    func releaseOwner() {
        guard let owner = retainedOwner else { return }
        retainedOwner = nil
        owner.release()
    }

    override func didEnd(discards: Bool) {
        if discards { lane.discard(self, inDrain: false) }
    }

    /// Frees the closure, unless messages still wait for it. In that case it is freed after the last of them.
    override func didLeaveList(_ listener: ListenerEntry) {
        let isUnused = withLock {
            let isUnused = state.leave()
            // From here on its tickets keep it alive, as its list did before. Balanced in ``PendingCleanup``.
            if !isUnused { Unretained(listener).retain() }
            return isUnused
        }
        if isUnused { listener.freeBody() }
    }

    override func didFreeBody() {
        super.didFreeBody()
        forgetBuffer()
        let resumed = withLock {
            isFinished = true
            return finishWaiters.take { _ in true }
        }
        resumed.resume()
    }

    override func waitForCalls(of listener: ListenerEntry, afterDelivery: Bool) async {
        if afterDelivery { await waitUntilFinished() } else { await lane.waitForCall(of: listener) }
    }

    /// Suspends until the closure is freed: no post can see the listener, and no ticket is left.
    private func waitUntilFinished() async {
        await Waiters<Void>.suspend { continuation in
            withLock {
                if !isFinished { finishWaiters.add(continuation, until: ()) }
                return !isFinished
            }
        }
    }

    override var accounts: ListenerAccounts {
        var accounts = withLock { state.accounts(delivered: delivered) }
        let direct = directCalls.load(ordering: .relaxed)
        accounts.posted += direct
        accounts.delivered += direct
        return accounts
    }
}

extension MessageQueue {
    /// Destroys every message and reports it as discarded.
    mutating func discardAll() {
        while !isEmpty {
            // The slot retains the envelope until `removeFirst`.
            let tracker = peek().envelope?.object.tracker
            removeFirst()
            tracker?.finish(.discarded)
        }
    }
}
