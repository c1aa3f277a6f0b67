#if NATS
/// How a process that starts takes over what earlier ones of its name have not settled, before what is newer: the
/// transitions, without locks.
///
/// A process that was killed gives nothing back. Where it is certain that nobody has the older messages any more, they
/// have been taken back for it: then the server delivers them before anything else, in any order if several
/// processes were killed, so they are put in order here.
///
/// Otherwise the server keeps them until their acknowledgement wait is over, and delivers newer messages meanwhile. So
/// no more messages are fetched than older ones are missing. If a newer one comes, the older ones are still
/// kept: it is set aside, and nothing more is fetched until the wait is over. Then the server delivers the older ones
/// before anything else.
///
/// A connection that was lost is alike: what the server has sent on it may not have come. Until that is known,
/// everything that comes is set aside.
struct Takeover<Message> {
    private enum Phase {
        /// The connection is back, and it is not known yet what was lost with the one before: all is set aside.
        case asking
        /// What was lost comes at once: the messages are set aside until all have come.
        case restoring
        /// The older messages come at once: they are set aside until all have come.
        case ordering
        /// Fetches as many messages as are missing.
        case collecting
        /// A newer message has come: fetches nothing.
        case waiting
        /// The older messages that are left come first now.
        case draining
        case over
    }

    private var phase: Phase
    /// How many older messages have not come yet.
    private var older: Int
    /// The sequence in the stream of the last of them.
    private var last: UInt64
    /// The number of the last delivery that may have been made before they were taken back.
    private var lastEarlier: UInt64 = 0
    /// The sequences of those that have come. The server may deliver one again before it is settled.
    private var come: Set<UInt64> = []
    private var setAside: [(sequence: UInt64, message: Message)] = []

    /// - Parameters:
    ///   - unsettled: How many messages others have not settled when this process starts.
    ///   - last: The sequence in the stream of the last message that was delivered to them.
    ///   - areTakenBack: Whether the server delivers them at once.
    init(unsettled: Int, last: UInt64, areTakenBack: Bool = false) {
        phase = unsettled == 0 ? .over : areTakenBack ? .ordering : .collecting
        (older, self.last) = (unsettled, last)
    }

    var isOver: Bool { phase == .over }

    /// Whether older messages are set aside, until they are in order. These take up room.
    var isOrdering: Bool { phase == .ordering }

    /// Whether what was lost comes at once.
    var isRestoring: Bool { phase == .restoring }

    /// Whether messages are set aside until it is known what was lost.
    var isAsking: Bool { phase == .asking }

    /// Whether newer messages wait for the older ones.
    var isWaiting: Bool { phase == .waiting }

    /// How many messages to ask for at most, besides what there is room for.
    var limit: Int {
        switch phase {
        case .collecting: older
        case .waiting: 0
        case .asking, .restoring, .ordering, .draining, .over: .max
        }
    }

    /// Whether others have settled all older messages.
    ///
    /// - Parameter floor: Up to which sequence in the stream all messages are settled.
    func areSettled(upTo floor: UInt64) -> Bool { floor >= last }

    /// A message was delivered.
    ///
    /// - Parameter number: That of the delivery.
    /// - Returns: Those to pass on now, in order.
    mutating func received(_ message: Message, sequence: UInt64, number: UInt64 = .max) -> [Message] {
        guard phase != .over else { return [message] }
        if phase == .asking {
            setAside.append((sequence, message))
            return []
        }
        if sequence <= last, come.insert(sequence).inserted { older -= 1 }
        if phase == .restoring || phase == .ordering && !come.isEmpty {
            setAside.append((sequence, message))
            // Before a newer one, the server delivers all older ones that are still in the stream, once it has them.
            return older > 0 && (sequence <= last || number <= lastEarlier) ? [] : end()
        }
        if sequence <= last {
            return older > 0 ? [message] : [message] + end()
        }
        if phase == .draining { return end() + [message] }
        phase = .waiting
        setAside.append((sequence, message))
        return []
    }

    /// A request was over before all had come that it asked for.
    ///
    /// - Returns: Messages to pass on now.
    mutating func requestEnded() -> [Message] {
        switch phase {
        case .draining, .restoring: return end()
        case .ordering where !come.isEmpty: return end()
        case .ordering:
            // That they were taken back has had no effect.
            phase = .collecting
            return []
        case .asking, .collecting, .waiting, .over: return []
        }
    }

    /// There is no room for more messages.
    ///
    /// - Returns: Those to pass on now, of which others may be older that come later.
    mutating func takeSetAside() -> [Message] {
        guard phase == .ordering else { return [] }
        defer { setAside = [] }
        return inOrder
    }

    // MARK: After a loss of the connection

    /// Sets aside what comes from now on, until it is known what was lost.
    ///
    /// A wait for what others keep goes on instead.
    mutating func ask() {
        if phase == .over || phase == .restoring { phase = .asking }
    }

    /// It is known what was lost, and the server delivers that at once.
    ///
    /// - Parameters:
    ///   - count: How many messages; 0 where nothing comes.
    ///   - held: The sequences in the stream of those that this process has.
    ///   - last: The sequence of the last message that was delivered to this process.
    ///   - lastEarlier: The number of the last delivery that may have been made before the server had them.
    mutating func restore(_ count: Int, besides held: Set<UInt64>, last: UInt64, after lastEarlier: UInt64 = 0) {
        guard phase == .asking else { return }
        self.lastEarlier = lastEarlier
        phase = count == 0 && setAside.isEmpty ? .over : .restoring
        (older, self.last, come) = (count, last, phase == .over ? [] : held)
        for (sequence, _) in setAside where sequence <= last && come.insert(sequence).inserted { older -= 1 }
    }

    /// It cannot be found out now.
    ///
    /// - Returns: Messages to pass on now.
    mutating func stopAsking() -> [Message] { phase == .asking ? end() : [] }

    /// Nobody keeps the older messages any more, or they are shared with others, so that there is no order.
    mutating func endWait() {
        if phase == .collecting || phase == .waiting { phase = .draining }
    }

    private mutating func end() -> [Message] {
        defer { (phase, setAside, come, older, lastEarlier) = (.over, [], [], 0, 0) }
        return inOrder
    }

    private var inOrder: [Message] { setAside.sorted { $0.sequence < $1.sequence }.map(\.message) }
}
#endif
