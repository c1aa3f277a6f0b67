/// Who delivers the values of a state, and which wait.
///
/// Only transitions: each is made under the state's lock and returns what is to be done without it. One thread delivers
/// at a time. Whoever sets a value meanwhile leaves it here, and returns. So that nobody delivers for others without
/// end, a job goes on once a thread has delivered 64 values of others.
struct StateTurns: ~Copyable {
    /// For whom a value is that was set and is not yet delivered.
    struct Turn {
        /// The number of the first listener that is too new for it.
        var before: UInt64
        /// How many posts and changes led to it, itself included.
        let chain: Int
        /// The one listener for which it is: one that is new, or resumes.
        let entry: ListenerEntry?
        /// The record of the thread that set it.
        let setter: UInt
    }

    /// What a thread that delivers does next.
    enum Next {
        case deliver(Turn, Envelope?)
        /// Nobody delivers from here on. Where the channel has been deallocated, its list is closed.
        case end(closesList: Bool)
        /// The caller has delivered enough for others: a job goes on.
        case reschedule
    }

    /// What becomes of a value just set.
    enum Admission {
        /// The caller delivers it now: there is nothing before it.
        case deliver(Turn)
        /// Somebody else will.
        case wait
        /// Somebody else will, and so many values of others wait that this is a backlog.
        case waitBehind(Int)
    }

    /// Values of others that a thread delivers at most.
    static let mostForOthers = 64
    /// With more values than this, those who set others are slowed down.
    static let mostWaiting = 1_024

    private var turns = Queue<Turn>()
    /// The values of the turns, one for one.
    private var values: MessageQueue
    /// The record of the thread that delivers, or 0.
    private(set) var deliverer: UInt = 0
    private var deliveredForOthers = 0
    /// Whether the channel has been deallocated.
    private var isClosing = false

    init(_ layout: MessageLayout) { values = MessageQueue(layout) }

    /// How many values wait.
    var waitingCount: Int { values.count }

    /// A value was set, or stored for a listener that is new or resumes.
    ///
    /// - Parameter value: Where it stands. It is copied if it has to wait.
    mutating func admit(
        _ value: MessageAddress,
        _ envelope: Envelope?,
        before number: UInt64,
        for entry: ListenerEntry?,
        chain: Int,
        from thread: UInt
    ) -> Admission {
        let turn = Turn(before: number, chain: chain, entry: entry, setter: thread)
        if deliverer == 0 {
            deliverer = thread
            return .deliver(turn)
        }
        if let entry, renews(entry, before: number) { return .wait }
        turns.append(turn)
        values.append(copying: value, envelope)
        // What the thread that delivers sets itself is bounded by what may follow from one post. A registration is no
        // backlog.
        return values.count > Self.mostWaiting && deliverer != thread && entry == nil
            ? .waitBehind(values.count) : .wait
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
        guard values.isEmpty, !isClosing else { return false }
        deliverer = 0
        return true
    }

    /// Notes that the channel is deallocated.
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
        if deliveredForOthers >= Self.mostForOthers, !values.isEmpty {
            deliveredForOthers = 0
            deliverer = Self.job
            return .reschedule
        }
        guard let turn = turns.popFirst() else {
            deliverer = 0
            deliveredForOthers = 0
            return .end(closesList: isClosing)
        }
        let envelope = values.moveFirst(to: message)
        if turn.setter != thread { deliveredForOthers += 1 }
        return .deliver(turn, envelope)
    }

    /// Stands for the job that goes on, until it runs.
    private static let job: UInt = 1

    /// The job has begun to run.
    mutating func takeOver(by thread: UInt) { deliverer = thread }
}
