#if NATS
/// How a process that starts takes over what earlier ones of its name have not settled, before what is newer: the
/// transitions, without locks.
///
/// A process that was killed gives nothing back: the server keeps what that one had until its acknowledgement wait
/// is over, and delivers newer messages meanwhile. So no more messages are fetched than older ones are missing. If
/// a newer one comes, the older ones are still kept: it is set aside, and nothing more is fetched until the wait is
/// over. Then the server delivers the older ones before anything else.
struct Takeover<Message> {
    private enum Phase {
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
    private let last: UInt64
    private var setAside: [Message] = []

    /// - Parameters:
    ///   - unsettled: How many messages others have not settled when this process starts.
    ///   - last: The sequence in the stream of the last message that was delivered to them.
    init(unsettled: Int, last: UInt64) {
        phase = unsettled > 0 ? .collecting : .over
        (older, self.last) = (unsettled, last)
    }

    var isOver: Bool { phase == .over }

    /// Whether newer messages wait for the older ones.
    var isWaiting: Bool { phase == .waiting }

    /// How many messages to ask for at most, besides what there is room for.
    var limit: Int {
        switch phase {
        case .collecting: older
        case .waiting: 0
        case .draining, .over: .max
        }
    }

    /// Whether others have settled all older messages.
    ///
    /// - Parameter floor: Up to which sequence in the stream all messages are settled.
    func areSettled(upTo floor: UInt64) -> Bool { floor >= last }

    /// A message was delivered.
    ///
    /// - Returns: Those to pass on now, in order.
    mutating func received(_ message: Message, sequence: UInt64) -> [Message] {
        guard phase != .over else { return [message] }
        if sequence <= last {
            older -= 1
            return older > 0 ? [message] : [message] + end()
        }
        if phase == .draining { return end() + [message] }
        phase = .waiting
        setAside.append(message)
        return []
    }

    /// A request was over before all had come that it asked for.
    ///
    /// - Returns: Messages to pass on now.
    mutating func requestEnded() -> [Message] {
        phase == .draining ? end() : []
    }

    /// Nobody keeps the older messages any more, or they are shared with others, so that there is no order.
    mutating func hasWaited() {
        if phase != .over { phase = .draining }
    }

    private mutating func end() -> [Message] {
        defer { (phase, setAside) = (.over, []) }
        return setAside
    }
}
#endif
