/// Who delivers the values of a state, and which of them wait.
///
/// These are transitions only: each is made under the state's lock and returns what to do without it. One
/// thread delivers at a time; others leave their values here. After 64 of those, a job takes over.
struct StateTurns: ~Copyable {
    struct Turn {
        /// The number of the first listener that is too new for the value.
        var before: UInt64
        /// How many changes led to it, itself included.
        let chain: Int
        /// The only recipient, if the value is for one that is new or resumes.
        let entry: ListenerEntry?
        /// The record of the thread that set it.
        let setter: UInt
    }

    /// The next step of the thread that delivers.
    enum Next {
        case deliver(Turn, Envelope?)
        /// Nothing is queued: no thread delivers from here on. The list of a deallocated channel is closed.
        case end(closesList: Bool)
        /// The thread has delivered enough for others: a job continues.
        case reschedule
    }

    /// The fate of a value just set.
    enum Claim {
        /// The caller delivers it now, because none is before it.
        case deliver(Turn)
        /// Another thread delivers it.
        case wait
        /// Another thread delivers it, behind this many values.
        case waitBehind(Int)
    }

    /// The most values of others that a thread delivers.
    static let mostForOthers = 64
    /// The most values that may wait before setters are slowed down.
    static let mostWaiting = 1_024

    private var turns = Queue<Turn>()
    /// One for each turn.
    private var values: MessageQueue
    /// The record of the thread that delivers, or 0.
    private(set) var deliverer: UInt = 0
    private var deliveredForOthers = 0
    /// Whether the channel was deallocated.
    private(set) var isClosing = false

    init(_ layout: MessageLayout) { values = MessageQueue(layout) }

    var waitingCount: Int { values.count }

    /// Claims a turn for a value that was set, or stored for a listener that is new or resumes.
    /// - Parameter value: Its address. It is copied if it has to wait.
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
        // Not for a registration, nor for the delivering thread, which would wait for itself.
        return values.count > Self.mostWaiting && deliverer != thread && entry == nil
            ? .waitBehind(values.count) : .wait
    }

    /// Renews the last turn if it is the listener's: it was paused and resumed without a change in between.
    private mutating func renew(_ entry: ListenerEntry, before number: UInt64) -> Bool {
        let isLast = turns.withLast { last in
            guard last.entry === entry else { return false }
            last.before = number
            return true
        }
        return isLast == true
    }

    /// Ends the delivery of a value that did not wait, and returns whether nothing else waits.
    mutating func endIfNothingWaits() -> Bool {
        guard values.isEmpty, !isClosing else { return false }
        deliverer = 0
        return true
    }

    /// Notes that the channel was deallocated, and returns whether no thread delivers: queued values come
    /// first.
    mutating func close() -> Bool {
        isClosing = true
        return deliverer == 0
    }

    /// Returns the next step of the thread that delivers.
    /// - Parameter message: Where to put the value, if there is one.
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
