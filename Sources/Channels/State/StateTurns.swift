/// Who delivers the values of a state, and which of them wait.
///
/// Transitions only: each is made under the state's lock and returns what to do without it. One thread delivers at a
/// time; other threads leave their values here. After a thread has delivered 64 of those, a job takes over.
struct StateTurns: ~Copyable {
    struct Turn {
        /// The number of the first listener that is too new for the value.
        var before: UInt64
        /// How many changes led to the value, including its own.
        let chain: Int
        /// The only recipient, if the turn is for a new or resumed listener.
        let entry: ListenerEntry?
        /// The record of the thread that set the value.
        let setter: UInt
    }

    /// The next step of the thread that delivers.
    enum Next {
        case deliver(Turn, Envelope?)
        /// Nothing is queued, so no thread delivers from here on. `closesList` is true if the channel has been
        /// deallocated or finished.
        case end(closesList: Bool)
        /// The thread has delivered enough for others, and a job is to continue.
        case reschedule
    }

    /// What happens to a value that was just set.
    enum Claim {
        /// The caller delivers it now, because no other value is before it.
        case deliver(Turn)
        /// Another thread delivers it.
        case wait
        /// It is delivered behind this many values: by another thread, for which the setter can wait, or by its own.
        case waitBehind(Int, canWait: Bool)
    }

    /// The most values of other threads that a thread delivers.
    static let mostForOthers = 64
    /// The most values that may wait before setters are slowed down.
    static let mostWaiting = 1_024

    private var turns = Queue<Turn>()
    /// The values, one for each turn.
    private var values: MessageQueue
    /// The record of the thread that delivers, or 0.
    private(set) var deliverer: UInt = 0
    private var deliveredForOthers = 0
    /// Whether the channel was deallocated or finished.
    private(set) var isClosing = false

    init(_ layout: MessageLayout) { values = MessageQueue(layout) }

    var waitingCount: Int { values.count }

    /// Claims a turn for a value that was just set, or for the stored value and a new or resumed listener.
    /// - Parameter value: The address of the value, which is copied if it has to wait.
    mutating func claim(
        _ value: MessageAddress,
        _ envelope: Envelope?,
        before number: UInt64,
        for entry: ListenerEntry?,
        chain: Int,
        from thread: UInt
    ) -> Claim {
        let turn = Turn(before: number, chain: chain, entry: entry, setter: thread)
        if deliverer == 0 {
            deliverer = thread
            return .deliver(turn)
        }
        if let entry, renew(entry, before: number) { return .wait }
        turns.append(turn)
        values.append(copying: value, envelope)
        // A registration does not wait.
        return values.count > Self.mostWaiting && entry == nil
            ? .waitBehind(values.count, canWait: deliverer != thread) : .wait
    }

    /// Renews the last waiting turn, if it is this listener's, which was paused and resumed without a change in
    /// between.
    private mutating func renew(_ entry: ListenerEntry, before number: UInt64) -> Bool {
        let isLast = turns.withLast { last in
            guard last.entry === entry else { return false }
            last.before = number
            return true
        }
        return isLast == true
    }

    /// Ends the delivery of a value that did not have to wait. Returns true if nothing else waits.
    mutating func endIfNothingWaits() -> Bool {
        guard values.isEmpty, !isClosing else { return false }
        deliverer = 0
        return true
    }

    /// Notes that the channel was deallocated or finished. Returns true if no thread is delivering, so that the list
    /// can be closed now; otherwise queued values come first.
    mutating func close() -> Bool {
        isClosing = true
        return deliverer == 0
    }

    /// Returns the next step of the thread that delivers.
    /// - Parameter message: Where to put the next value, if there is one.
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

    /// Stands for the job until it runs.
    private static let job: UInt = 1

    /// Called when the job begins to run.
    mutating func takeOver(by thread: UInt) { deliverer = thread }
}
