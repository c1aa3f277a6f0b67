internal import CChannels
internal import Dispatch
internal import Synchronization

/// The FIFO of deliveries to one actor or one dispatch queue, shared by all listeners that run there; an async
/// listener has one of its own.
///
/// What one poster posts to listeners of one lane is heard in the order posted, whatever the channels. One
/// drain job at a time delivers, however long the burst and whoever listens.
///
/// Guards: `lock` guards `state`, `waiters`, and the states of the mailboxes that have their turns here.
/// `expected` belongs to the actor. What stands from `taken` on belongs to the drain, of which there is one at a
/// time (`LaneState.phase`); between two turns the mailboxes' batches belong to whoever holds the lock and has
/// claimed them by `isBetweenTurns`. The rest is constant or atomic.
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
    /// The identity of the actor; 0 if there is none.
    let actorAddress: UInt
    let isMain: Bool
    let lock = SpinLock()
    @safe @exclusivity(unchecked) var state = LaneState()
    /// The tasks that wait for the end of a call.
    @safe @exclusivity(unchecked) private var waiters: [Waiter] = []
    /// How many tickets there have ever been. Written under the lock.
    let arrived = Atomic<Int>(0)
    /// How many messages wait that were posted on the lane's own actor, in the lane or for a turn of a state.
    let ownWaiting = Atomic<Int>(0)
    /// How many of them wait for a turn of a state, see ``ListenerCounters/Reservation``.
    private let ownTurns = Atomic<Int>(0)
    /// Written in the initialiser only.
    @safe @exclusivity(unchecked) private(set) weak var actor: (any Actor)?
    /// What a queue runs, one job at a time: made once, so that a turn allocates no closure. The lane is retained
    /// as long as a job stands in the queue. Written in the initialiser only.
    @safe @exclusivity(unchecked) private(set) var job: (@Sendable @convention(block) () -> Void)?

    /// The state of which turns are expected, and who set the values. Compared only.
    @safe @exclusivity(unchecked) private var expected: (state: UInt, poster: Int) = (0, 0)

    // Keeps what the drain writes for each message off the cache lines that posters write.
    private let padding = Padding()
    /// The listener being called, or 0. Written by the drain.
    private let current = Atomic<UInt>(0)
    private let hasWaiters = Atomic<Bool>(false)
    /// True between two turns if the first left some of what it had taken. Whoever holds the lock and exchanges it
    /// for false may discard what was taken for a listener; the next turn waits until that is done.
    let isBetweenTurns = Atomic<Bool>(false)
    /// Tickets of this turn, and of some that follow where the drain is behind.
    @safe @exclusivity(unchecked) var taken: [LaneState.Ticket] = []
    /// The first of them that has not been used up.
    @safe @exclusivity(unchecked) var next = 0
    /// The listeners for which calls have been made and not settled: retained by their tickets.
    @safe @exclusivity(unchecked) var called: [Unretained<ListenerEntry>] = []
    /// The limit of the smallest bounded buffer that there has been: the drain does not wait for as many messages,
    /// of which some would be dropped while it is idle.
    let smallestBuffer = Atomic<Int>(.max)
    /// How many tickets have been taken, or skipped, when the drain last took some.
    @safe @exclusivity(unchecked) var takenCount = 0
    /// Whether it has not found the lane empty since it was started: the turn that begins is not the first.
    @safe @exclusivity(unchecked) var goesOn = false
    /// Whether too many messages to which calls had led waited when the drain last took some.
    @safe @exclusivity(unchecked) var isExhausted = false
    /// How many posts and changes of states the calls have been refused since.
    @safe @exclusivity(unchecked) var refused = 0
    /// Whether the turn before made as many calls as it may: they are short, and more wait.
    @safe @exclusivity(unchecked) var isBehind = false

    init(_ target: Target, of actor: (any Actor)? = nil) {
        self.target = target
        actorAddress = actor.map { Unretained<AnyObject>($0).address } ?? 0
        if case .mainActor = target {
            isMain = true
        } else {
            isMain = false
            self.actor = actor
        }
        guard case .queue(let queue) = target else { return }
        // Retained by `schedule`.
        let lane = Unretained(self)
        job = {
            if lane.borrow({ $0.runJob(on: queue) }) { lane.release() }
        }
    }

    deinit { if case .actor = target { Lane.forget(self) } }

    // MARK: Direct calls

    /// Whether a post of this isolation is made on the lane's actor, where none of an earlier one waits.
    @inline(__always)
    func mayCall(from isolation: UInt) -> Bool {
        isolation != 0 && isolation == actorAddress && ownWaiting.load(ordering: .relaxed) == 0
    }

    /// Whether a message waits that the calling ``poster`` has posted on the lane's actor. Called there.
    ///
    /// - Parameter list: A state, of which values may have turns to come.
    func hasOwn(exceptTurnsOf list: ListenerList?) -> Bool {
        guard ownWaiting.load(ordering: .relaxed) > 0 else { return false }
        let poster = poster
        if ownTurns.load(ordering: .relaxed) > 0, expected.poster == poster, expected.state != list?.address {
            return true
        }
        return lock.withLock { state.ownPosters.contains(poster) }
    }

    /// A listener is to be called with a value set on the lane's actor when that has its turn, before the calling
    /// task gives the actor up: what it posts until then is heard later. Called on the actor.
    func expectsTurn(of list: ListenerList) {
        expected = (list.address, poster)
        ownTurns.wrappingAdd(1, ordering: .relaxed)
        ownWaiting.wrappingAdd(1, ordering: .relaxed)
    }

    /// So many of these turns have come, or will not.
    func removeTurns(_ count: Int) {
        ownTurns.wrappingSubtract(count, ordering: .relaxed)
        removeOwnMessages(count)
    }

    /// The poster whose order the lane keeps. Called on its actor. An actor is one poster, 1. On the main actor
    /// each task is one, and so is an async listener, whichever tasks call it and whatever tasks it starts; 0 is what
    /// runs outside of tasks, and the drain's calls are 1.
    ///
    /// The main actor is shared by parts of a program that do not know of each other, and one that is behind
    /// would delay the posts of all.
    var poster: Int {
        guard isMain, current.load(ordering: .relaxed) == 0 else { return 1 }
        if let call = ListenerChain.current { return call.poster }
        // Compared only.
        return unsafe withUnsafeCurrentTask { task in unsafe task?.hashValue ?? 0 }
    }

    /// Whether the drain is calling a listener.
    func isCalling(_ listener: ListenerEntry) -> Bool { current.load(ordering: .acquiring) == listener.address }

    // MARK: Ending

    /// Discards what waits for a listener.
    ///
    /// - Parameter inDrain: Whether the drain calls this, which may discard what it has taken.
    func discard(_ mailbox: Mailbox, inDrain: Bool) {
        var discarded = MessageQueue(mailbox.layout)
        var taken = MessageQueue(mailbox.layout)
        var leaving = LaneState.Leaving()
        var portions = lock.withLock {
            let (stale, own) = mailbox.state.end(into: &discarded)
            leaving.ownCount += own
            // The drain cannot begin its next turn before it finds true there again, or gets the lock.
            let isBetweenTurns = !inDrain && isBetweenTurns.exchange(false, ordering: .acquiring)
            if inDrain || isBetweenTurns || !state.isDraining {
                mailbox.state.end(batch: &mailbox.batch, into: &taken)
            }
            if isBetweenTurns { self.isBetweenTurns.store(true, ordering: .releasing) }
            state.noteStale(stale, &leaving)
            return state.count / Self.looksPerPortion + 1
        }
        // Many may have become stale at once, and posters wait for the lock.
        while portions > 0, lock.withLock({ state.compact(Self.looksPerPortion, &leaving) }) {
            portions -= 1
            // A thread that takes the lock again at once would keep those out that spin for it.
            for _ in 0..<Self.spinsBetweenPortions { channels_spin_hint() }
        }
        taken.discardAll()
        discarded.discardAll()
        leave(leaving)
    }

    private static let looksPerPortion = 256
    private static let spinsBetweenPortions = 64

    /// Does what is left to do for listeners without a ticket.
    func leave(_ leaving: LaneState.Leaving) {
        removeOwnMessages(leaving.ownCount)
        leaving.leave()
    }

    /// So many messages of a ticket that the drain has taken do not wait any more.
    @inline(__always)
    func noteUsed(_ count: Int, of ticket: LaneState.Ticket, _ mailbox: Mailbox) {
        if ticket.poster != 0 { noteOwnUsed(count, of: ticket, mailbox) }
    }

    @inline(never)
    private func noteOwnUsed(_ count: Int, of ticket: LaneState.Ticket, _ mailbox: Mailbox) {
        let gone = lock.withLock {
            state.ownPosters.remove(count, of: ticket.poster)
            return mailbox.state.removeOwn(count)
        }
        removeOwnMessages(gone)
    }

    /// So many messages posted on the lane's own actor do not wait any more.
    @inline(__always)
    func removeOwnMessages(_ count: Int) {
        if count > 0 { ownWaiting.wrappingSubtract(count, ordering: .relaxed) }
    }

    // MARK: Waiting for a call to end

    /// The drain calls a listener from here on; 0 for none.
    ///
    /// A canceller sets the listener's bit, runs a barrier on every thread, and then reads `current`; the
    /// drain writes `current` and then reads the bit. So one of the two sees the other. The end of a call and
    /// `hasWaiters` are the same. Where there is no such barrier, the drain makes one each time.
    @inline(__always)
    func setCurrent(_ address: UInt, _ thread: ThreadReference) {
        if thread.pointee.endsWithBarrier {
            _ = current.exchange(address, ordering: .sequentiallyConsistent)
        } else {
            current.store(address, ordering: .releasing)
        }
    }

    /// Whether somebody waits for the call that has just ended.
    @inline(__always)
    var isAwaited: Bool { hasWaiters.load(ordering: .sequentiallyConsistent) }

    /// Suspends until the drain is not calling a listener that has been cancelled: no call of it follows.
    func waitForCall(of listener: ListenerEntry) async {
        // False only where the drain makes a barrier itself.
        _ = channels_barrier_on_all_threads()
        guard isCalling(listener) else { return }
        await withCheckedContinuation { continuation in
            lock.withLock {
                waiters.append((listener.address, continuation))
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
            }
            _ = channels_barrier_on_all_threads()
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
