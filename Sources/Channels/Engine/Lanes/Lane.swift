// Lanes: messages that wait for an actor, a queue or an awaited call, whose turn it is, and the job that delivers them.
//
// A poster puts the message into the listener's `Mailbox` and a ticket into the `Lane` of its actor, under the
// lane's lock (`+Enqueue`). The first ticket starts the drain, one job at a time (`+Drain`, `+Await`), which takes
// tickets and calls listeners until nothing waits. The transitions are pure structs, tested without threads:
// `LaneState` and `MailboxState` under the lock, `DrainState` and `DrainTurn` in the drain. `PendingCleanup` is
// what is done after unlocking. `+Find` says which lane an actor or a queue has. A sequence has a mailbox and no
// lane: see Sequences.

internal import CChannels
internal import Dispatch
internal import Synchronization

/// The FIFO of deliveries to one actor or one dispatch queue, shared by all listeners that run there; an async
/// listener has one of its own.
///
/// What one poster posts to listeners of one lane is heard in the order posted, whatever the channels. One
/// drain job at a time delivers, however long the burst and whoever listens.
///
/// Guards: `lock` guards `state`, `waiters`, and the states of the mailboxes that have their turns here. `drain`
/// belongs to the drain, of which there is one at a time (`LaneState.phase`). Between two turns the mailboxes' batches
/// belong to whoever holds the lock and has claimed them by `isBetweenTurns`. The rest is constant or atomic.
final class Lane: @unchecked Sendable {  // guards: see above
    /// Where the listeners run.
    enum Target {
        case mainActor
        /// On an actor, held weakly: a closure isolated to it keeps it alive, and an owner need not live.
        case actor
        case queue(DispatchQueue)
        /// By awaiting the closure of the lane's one listener.
        case awaiting(AsyncIsolation)
    }

    typealias Waiter = (listener: UInt, continuation: CheckedContinuation<Void, Never>)

    let target: Target
    /// The identity of the actor; ``nowhere`` if there is none.
    let home: UInt
    /// The identity of nobody. (A post without isolation has 0.)
    static let nowhere: UInt = 1
    let lock = SpinLock()
    @safe @exclusivity(unchecked) var state = LaneState()
    /// The tasks that wait for the end of a call.
    @safe @exclusivity(unchecked) private var waiters: [Waiter] = []
    /// How many tickets there have ever been. Written under the lock.
    let arrived = Atomic<Int>(0)
    /// Written in the initialiser only.
    @safe @exclusivity(unchecked) private(set) weak var actor: (any Actor)?
    /// What a queue runs, one job at a time: made once, so that a turn allocates no closure. The lane is retained
    /// as long as a job stands in the queue. Written in the initialiser only.
    @safe @exclusivity(unchecked) private(set) var job: (@Sendable @convention(block) () -> Void)?

    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    /// The listener being called, or 0. Written by the drain.
    private let current = Atomic<UInt>(0)
    private let hasWaiters = Atomic<Bool>(false)
    /// True between two turns if the first left some of what it had taken. Whoever holds the lock and exchanges it
    /// for false may discard what was taken for a listener; the next turn waits until that is done.
    let isBetweenTurns = Atomic<Bool>(false)
    @safe @exclusivity(unchecked) var drainState = DrainState()
    /// The limit of the smallest bounded buffer that there has been: the drain does not wait for as many messages,
    /// of which some would be dropped while it is idle.
    let smallestBuffer = Atomic<Int>(.max)

    init(_ target: Target, of actor: (any Actor)? = nil) {
        self.target = target
        home = actor.map { Unretained<AnyObject>($0).address } ?? Self.nowhere
        if case .mainActor = target {} else { self.actor = actor }
        guard case .queue(let queue) = target else { return }
        // Retained by `schedule`.
        let lane = Unretained(self)
        job = {
            if lane.borrow({ $0.runJob(on: queue) }) { lane.release() }
        }
    }

    deinit { if case .actor = target { Lane.forget(self) } }

    // MARK: Direct calls

    /// Whether the drain is calling a listener.
    func isCalling(_ listener: ListenerEntry) -> Bool {
        current.load(ordering: .sequentiallyConsistent) == listener.address
    }

    // MARK: Ending

    /// Discards what waits for a listener, which has ended. Its tickets stay until their turn comes.
    ///
    /// - Parameter inDrain: Whether the drain calls this, which may discard what it has taken.
    @inline(never)
    func discard(_ mailbox: Mailbox, inDrain: Bool) {
        var discarded = MessageQueue(mailbox.layout)
        var taken = MessageQueue(mailbox.layout)
        lock.withLock {
            mailbox.state.end(into: &discarded)
            // The drain cannot begin its next turn before it finds true there again, or gets the lock.
            let isBetweenTurns = !inDrain && isBetweenTurns.exchange(false, ordering: .acquiring)
            if inDrain || isBetweenTurns || state.phase != .draining { swap(&mailbox.batch, &taken) }
            if isBetweenTurns { self.isBetweenTurns.store(true, ordering: .releasing) }
        }
        taken.discardAll()
        discarded.discardAll()
    }

    // MARK: Waiting for a call to end

    /// The drain calls a listener from here on; 0 for none.
    ///
    /// A canceller sets the listener's bit and then reads `current`; the drain writes `current` and then reads the bit.
    /// All of it is sequentially consistent, so one of the two sees the other. The end of a call and `hasWaiters` are
    /// the same. Written once for all messages of a ticket: it costs a full barrier.
    @inline(__always)
    func setCurrent(_ address: UInt) { _ = current.exchange(address, ordering: .sequentiallyConsistent) }

    /// Whether somebody waits for the call that has just ended.
    @inline(__always)
    var isAwaited: Bool { hasWaiters.load(ordering: .sequentiallyConsistent) }

    /// Suspends until the drain is not calling a listener that has been cancelled: no call of it follows.
    func waitForCall(of listener: ListenerEntry) async {
        guard isCalling(listener) else { return }
        await withCheckedContinuation { continuation in
            lock.withLock {
                waiters.append((listener.address, continuation))
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
            }
            if !isCalling(listener) { resumeWaiters() }
        }
    }

    /// Resumes those whose call has ended.
    @inline(never)
    func resumeWaiters() {
        var resumed: [Waiter] = []
        lock.withLock {
            let current = current.load(ordering: .sequentiallyConsistent)
            resumed = waiters.filter { $0.listener != current }
            waiters.removeAll { $0.listener != current }
            hasWaiters.store(!waiters.isEmpty, ordering: .sequentiallyConsistent)
        }
        for waiter in resumed { waiter.continuation.resume() }
    }
}

/// 128 unused bytes: two cache lines, which processors fetch in pairs.
struct Padding {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    private let more: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
