// Lanes: messages that wait for an actor or a queue, and the job that delivers them.
//
// A poster puts the message into the listener's `Mailbox` and a ticket into the `Lane` of its actor, under the lane's
// lock (`+Enqueue`). The first ticket starts the drain, one job at a time (`+Drain`), which takes tickets and calls
// listeners until nothing waits. The transitions are pure structs, tested without threads: `LaneState` and
// `MailboxState` under the lock, `LaneState.Taken` and `DrainTurn` in the drain. `PendingCleanup` holds what is done
// after unlocking. `+Find` finds the lane of an actor or a queue. An async listener and a sequence have a mailbox and
// no lane: `SequenceMailbox`, which tasks read.

internal import CChannels
internal import Dispatch
internal import Synchronization

/// The FIFO of deliveries to one actor or dispatch queue, shared by all listeners there. They receive each poster's
/// messages in the order posted, across channels.
///
/// Guards: `lock` guards `state`, `waiters`, `limits`, and the states of this lane's mailboxes. `taken` belongs to the
/// drain, of which there is one at a time (`LaneState.phase`). Between two turns, the batches of mailboxes belong to a
/// thread that holds the lock and has claimed them with `isBetweenTurns`. The rest is constant or atomic.
final class Lane: @unchecked Sendable {  // guards: see above
    enum Target {
        case mainActor
        /// On an actor, held weakly: a closure isolated to the actor keeps it alive anyway, and an actor that owns a
        /// listener must not be kept alive.
        case actor
        case queue(DispatchQueue)
    }

    let target: Target
    /// The identity of the actor; ``nowhere`` if there is none.
    let home: UInt
    /// An identity that no actor and no post has; a post without isolation has 0.
    static let nowhere: UInt = 1
    let lock = SpinLock()
    @safe @exclusivity(unchecked) var state = LaneState()
    /// Whether a drain is scheduled or running. Written under the lock.
    let isActive = Atomic<Bool>(false)
    /// The tasks that wait for a call to end, each until its listener is no longer being called.
    private var waiters = Waiters<UInt>()
    /// How many tickets have ever been added. Written under the lock.
    let arrived = Atomic<Int>(0)
    /// Written only in the initializer.
    @safe @exclusivity(unchecked) private(set) weak var actor: (any Actor)?
    /// The job that runs a turn on a queue. Made once, in the initializer, so that a turn allocates no closure. The
    /// lane is retained while the job is enqueued.
    @safe @exclusivity(unchecked) private(set) var job: (@Sendable @convention(block) () -> Void)?

    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    /// The listener being called, or 0. Written by the drain.
    private let current = Atomic<UInt>(0)
    private let hasWaiters = Atomic<Bool>(false)
    /// True between two turns if the first left some of the messages that it had taken. A thread that holds the lock
    /// and exchanges this for false may discard a listener's messages among them; the next turn waits until that is
    /// done.
    let isBetweenTurns = Atomic<Bool>(false)
    @safe @exclusivity(unchecked) var taken = LaneState.Taken()
    /// The smallest limit of any buffer in the lane. The drain waits for fewer messages than that, so that it causes no
    /// drops. Written under the lock.
    let smallestBuffer = Atomic<Int>(.max)
    /// How many buffers have each limit. Guarded by the lock.
    private var limits: [Int: Int] = [:]

    init(_ target: Target, of actor: (any Actor)? = nil) {
        self.target = target
        home = actor.map { Unretained<AnyObject>($0).address } ?? Self.nowhere
        switch target {
        case .mainActor: break
        case .actor:
            if let actor, Unretained<AnyObject>(actor).allowsWeakReference { self.actor = actor }
        case .queue(let queue):
            // Retained by `schedule`.
            let lane = Unretained(self)
            job = {
                if lane.borrow({ $0.runJob(on: queue) }) { lane.release() }
            }
        }
    }

    deinit { if case .actor = target { Lane.forget(self) } }

    /// Called under the lock when the lane has become idle, or has ceased to be idle.
    func noteActivity() { isActive.store(state.phase != .idle, ordering: .releasing) }

    /// Notes that a listener has a buffer with this limit, until ``forgetBuffer(of:)``.
    func noteBuffer(of limit: Int) { changeBuffers(of: limit, by: 1) }

    func forgetBuffer(of limit: Int) { changeBuffers(of: limit, by: -1) }

    private func changeBuffers(of limit: Int, by change: Int) {
        lock.withLock {
            let count = limits[limit, default: 0] + change
            limits[limit] = count == 0 ? nil : count
            smallestBuffer.store(limits.keys.min() ?? .max, ordering: .relaxed)
        }
    }

    /// Returns whether the drain is calling a listener.
    func isCalling(_ listener: ListenerEntry) -> Bool {
        current.load(ordering: .sequentiallyConsistent) == listener.address
    }

    /// Discards what waits for an ended listener. Its tickets stay until their turn comes.
    ///
    /// - Parameter inDrain: Whether the drain itself calls this. It may always discard what it has taken.
    func discard(_ mailbox: Mailbox, inDrain: Bool) {
        var discarded = MessageQueue(mailbox.layout)
        var taken = MessageQueue(mailbox.layout)
        lock.withLock {
            mailbox.state.end(into: &discarded, keepsTickets: true)
            // The drain cannot begin its next turn before it finds true there again, or gets the lock.
            let isBetweenTurns = !inDrain && isBetweenTurns.exchange(false, ordering: .acquiring)
            if inDrain || isBetweenTurns || state.phase != .draining { swap(&mailbox.batch, &taken) }
            if isBetweenTurns { self.isBetweenTurns.store(true, ordering: .releasing) }
        }
        taken.discardAll()
        discarded.discardAll()
    }

    /// Sets the listener that the drain is about to call; 0 for none.
    ///
    /// A thread that cancels sets the listener's bit and then reads `current`; the drain writes `current` and then
    /// reads the bit. All four steps are sequentially consistent, so at least one of the two sees the other. The same
    /// holds for the end of a call and `hasWaiters`. Called once per ticket, because it costs a full barrier.
    func setCurrent(_ address: UInt) { _ = current.exchange(address, ordering: .sequentiallyConsistent) }

    /// Whether a task waits for the call that has just ended.
    var isAwaited: Bool { hasWaiters.load(ordering: .sequentiallyConsistent) }

    /// Suspends until the drain is not calling a cancelled listener, for which no further call follows.
    func waitForCall(of listener: ListenerEntry) async {
        guard isCalling(listener) else { return }
        await Waiters<UInt>.suspend { continuation in
            lock.withLock {
                waiters.add(continuation, until: listener.address)
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
            }
            if !isCalling(listener) { resumeWaiters() }
            return true
        }
    }

    /// Resumes the tasks whose call has ended.
    func resumeWaiters() {
        let resumed = lock.withLock {
            let current = current.load(ordering: .sequentiallyConsistent)
            defer { hasWaiters.store(!waiters.isEmpty, ordering: .sequentiallyConsistent) }
            return waiters.take { $0 != current }
        }
        resumed.resume()
    }
}

/// 128 unused bytes: two cache lines, which processors fetch in pairs.
struct Padding {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    private let more: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
