internal import Dispatch

/// Who delivers the values of a state, and which wait.
///
/// Only transitions: each is made under the state's lock and returns what is to be done without it. One
/// thread delivers at a time. Whoever sets a value meanwhile leaves it here, and returns. So that nobody
/// delivers for others without end, the role passes on: once a thread has delivered 64 values of others, the
/// next one that sets a value stands in `set` until it is given the role. And so that the values that wait
/// stay few, those who set beyond 1,024 of them stand in `set` until there are fewer or it is their turn to
/// deliver. Those inside a listener do not stand; where only they set, a job takes over after 1,024 values.
struct StateTurns: ~Copyable {
    /// For whom a value is that was set and is not yet delivered.
    struct Turn {
        /// The number of the first listener that is too new for it.
        var before: UInt64
        /// How long the chain is that led to it.
        let depth: Int
        /// The one listener for which it is: one that is new, or resumes.
        let entry: ListenerEntry?
        /// The record of the thread that set it.
        let setter: UInt
    }

    /// What a thread that delivers does next.
    enum Next {
        case deliver(Turn, Envelope?)
        /// Nobody delivers from here on; those who stand in `set` are told, and where the channel has gone, its list
        /// is closed.
        case end([StandingSetter], closesList: Bool)
        /// Another thread delivers from here on.
        case handOver(StandingSetter)
        /// The caller has delivered enough for those who cannot relieve it, because they set inside
        /// listeners: a job of its own goes on.
        case handOverToJob
    }

    /// What becomes of a value just set.
    enum Admission {
        /// The caller delivers it now: there is nothing before it.
        case deliver(Turn)
        /// Somebody else will.
        case wait
        /// The same, behind too many values of others, and the caller may not stand: it is inside a listener. Not for
        /// each of them, but whenever the number of values that wait has doubled.
        case waitBehindMany
        /// The same, and the caller stands in `set` meanwhile.
        case stand(StandingSetter)
        /// Nothing was changed: too many have followed from one value.
        case refuse
    }

    /// Values of others that a thread delivers before it asks to be relieved.
    static let mostForOthers = 64
    /// Values of others that a thread delivers at most.
    static let mostWithoutRelief = 1_024
    /// Values that may wait before those who set more have to stand.
    static let mostWaiting = 1_024

    private var turns = Queue<Turn>()
    /// The values of the turns, one for one.
    private var values: MessageQueue
    /// The record of the thread that delivers, or 0.
    private(set) var deliverer: UInt = 0
    /// How long the chain is that led to the value being delivered.
    private(set) var depth = 0
    /// Whether a value may wait that another thread than the one that delivers has set.
    private(set) var othersWait = false
    private var deliveredForOthers = 0
    private var fanOut = FanOut()
    /// Whether the channel has gone.
    private var isClosing = false
    /// In the order in which they came.
    private var standing: [StandingSetter] = []

    init(_ layout: MessageLayout) { values = MessageQueue(layout) }

    /// How many values have been refused since there were too many.
    var refusedCount: Int { fanOut.refused }

    /// How many values wait.
    var waitingCount: Int { values.count }

    /// Whether a thread may set one more value: not where too many have followed from one.
    mutating func hasRoom(for thread: UInt) -> Bool {
        deliverer == 0 || fanOut.hasRoom(depth: chain(of: thread))
    }

    /// When a thread that sets a value now delivers it; nil if it does not, or after values of other threads.
    func turn(of thread: UInt) -> ListenerCounters.Reservation? {
        guard deliverer != 0 else { return .now }
        return deliverer == thread && !othersWait ? .later : nil
    }

    /// How long the chain is that leads to what a thread is about to set.
    private func chain(of thread: UInt) -> Int { deliverer == thread ? depth + 1 : 1 }

    /// A value was set, or stored for a listener that is new or resumes.
    ///
    /// - Parameters:
    ///   - value: Where it stands. It is copied if it has to wait.
    ///   - mayStand: Whether the caller may be made to wait: it is not inside a listener.
    mutating func admit(
        _ value: MessageAddress,
        _ envelope: Envelope?,
        before number: UInt64,
        for entry: ListenerEntry?,
        from thread: UInt,
        mayStand: Bool
    ) -> Admission {
        if deliverer == 0 {
            deliverer = thread
            depth = 1
            return .deliver(Turn(before: number, depth: 1, entry: entry, setter: thread))
        }
        if let entry, renews(entry, before: number) { return .wait }
        let depth = chain(of: thread)
        fanOut.add(depth: depth)
        turns.append(Turn(before: number, depth: depth, entry: entry, setter: thread))
        if deliverer != thread { othersWait = true }
        values.append(copying: value, envelope)
        let isTired = deliveredForOthers >= Self.mostForOthers
        // A thread that delivers may set from the deinit of a value: it does not wait for itself.
        guard mayStand, deliverer != thread, values.count > Self.mostWaiting || (isTired && standing.isEmpty) else {
            let hasDoubled = values.count > Self.mostWaiting && values.count & (values.count - 1) == 0
            // What the thread that delivers sets itself is bounded by what follows from one value.
            return hasDoubled && deliverer != thread && entry == nil ? .waitBehindMany : .wait
        }
        let setter = StandingSetter(thread)
        standing.append(setter)
        return .stand(setter)
    }

    /// A listener may have been resumed a moment ago, and been paused and resumed since, without a change in
    /// between: one turn is enough.
    private mutating func renews(_ entry: ListenerEntry, before number: UInt64) -> Bool {
        let isLast = turns.withLast { last in
            guard last.entry === entry else { return false }
            last.before = number
            return true
        }
        return isLast == true
    }

    /// A value that did not wait has been delivered. Whether that was all; if so, nobody delivers from here
    /// on.
    @inline(__always)
    mutating func endsIfNothingWaits() -> Bool {
        guard values.isEmpty, standing.isEmpty, !isClosing else { return false }
        deliverer = 0
        othersWait = false
        depth = 0
        return true
    }

    /// The channel has gone.
    ///
    /// - Returns: Whether nobody delivers. Otherwise what waits is delivered first.
    mutating func close() -> Bool {
        isClosing = true
        return deliverer == 0
    }

    /// Takes out what the thread that delivers does next.
    ///
    /// - Parameter message: Where to put the value, where there is one.
    mutating func next(for thread: UInt, into message: MessageAddress) -> Next {
        if deliveredForOthers >= Self.mostForOthers, !values.isEmpty, let setter = firstToHandOver(except: thread) {
            deliveredForOthers = 0
            deliverer = setter.thread
            setter.isDeliverer = true
            return .handOver(setter)
        }
        if deliveredForOthers >= Self.mostWithoutRelief, !values.isEmpty {
            deliveredForOthers = 0
            deliverer = Self.job
            return .handOverToJob
        }
        guard let turn = turns.popFirst() else {
            deliverer = 0
            othersWait = false
            fanOut = FanOut()
            depth = 0
            deliveredForOthers = 0
            defer { standing = [] }
            return .end(standing, closesList: isClosing)
        }
        let envelope = values.moveFirst(to: message)
        fanOut.deliver(depth: turn.depth)
        depth = turn.depth
        if turn.setter != thread { deliveredForOthers += 1 }
        return .deliver(turn, envelope)
    }

    /// Stands for the job that goes on, until it runs.
    private static let job: UInt = 1

    /// The job has begun to run.
    mutating func takeOver(by thread: UInt) { deliverer = thread }

    private mutating func firstToHandOver(except thread: UInt) -> StandingSetter? {
        guard let index = standing.firstIndex(where: { $0.thread != thread }) else { return nil }
        return standing.remove(at: index)
    }

    /// Those who stand in `set` because too many values waited, and may go on, one at a time. The first stays
    /// where a thread that delivers waits to be relieved.
    mutating func nextToGoOn() -> StandingSetter? {
        let isTired = deliveredForOthers >= Self.mostForOthers
        guard values.count <= Self.mostWaiting, standing.count > (isTired ? 1 : 0) else { return nil }
        return standing.remove(at: isTired ? 1 : 0)
    }

    /// A setter has stood long enough, or was told to go on.
    ///
    /// - Returns: Whether it delivers from here on, and whether too many values still wait.
    mutating func leave(_ setter: StandingSetter) -> (delivers: Bool, isOverfull: Bool) {
        if setter.isDeliverer { return (true, false) }
        guard let index = standing.firstIndex(where: { $0 === setter }) else { return (false, false) }
        standing.remove(at: index)
        return (false, values.count > Self.mostWaiting)
    }
}

/// A thread that stands in `set` until it is given the role of delivering, or may go on.
///
/// `isDeliverer` is guarded by the state's lock.
final class StandingSetter: @unchecked Sendable {  // see above
    /// How long it stands at most: a bound on what a lock that the caller holds can cost, should a listener
    /// want it.
    private static let longest = DispatchTimeInterval.milliseconds(100)

    /// The record of the thread.
    let thread: UInt
    var isDeliverer = false
    private let signal = DispatchSemaphore(value: 0)

    init(_ thread: UInt) { self.thread = thread }

    func stand() { _ = signal.wait(timeout: .now() + Self.longest) }

    func goOn() { signal.signal() }
}
