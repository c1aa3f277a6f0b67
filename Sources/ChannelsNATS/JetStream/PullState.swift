#if NATS
internal import Channels
/// How much of a durable name has been asked for and delivered: the transitions, without locks.
///
/// At most one request is pending. The next one is made when at least half of the room is free, so that
/// requests are few and messages do not have to wait for one; or for what room there is, where the time of the
/// last one was over before all had come.
struct PullState {
    /// A request for messages.
    struct Request: Hashable {
        let number: UInt64
        let messages: Int
        /// Nil: however large they are.
        let bytes: Int?
    }

    /// Why the server ended a request.
    enum End {
        /// All it asked for has come, or its time is over.
        case over
        /// The next message is larger than the bytes it asked for.
        case tooLarge
        /// There is no such consumer, or nobody who could tell.
        case unavailable
    }

    private let limit: Int
    private let byteLimit: Int
    private var unsettled = 0
    private var unsettledBytes = 0
    /// The pending request, and what is left of it.
    private var pending: (request: Request, messages: Int, bytes: Int?)?
    /// When that was made.
    private var asked = ContinuousClock.now
    private(set) var lastNumber: UInt64 = 0
    /// What was left of requests when their connection was lost, and when they were made: the server may still answer
    /// them.
    private var earlier: [(messages: Int, asked: ContinuousClock.Instant)] = []
    /// Whether the last request was over, or was lost, before all had come.
    private var isOver = false
    /// The bytes that were left of a request when the next message was too large.
    private var tooSmall: Int?
    /// Whether no more is asked for.
    private var isStopped = true

    /// - Precondition: Both limits are positive.
    init(limit: Int, byteLimit: Int) {
        require(limit > 0 && byteLimit > 0, "nothing would ever be delivered")
        (self.limit, self.byteLimit) = (limit, byteLimit)
    }

    /// From now on, messages are asked for. What was asked for on an earlier connection, or of an earlier
    /// consumer, is not waited for.
    mutating func start() {
        if let pending {
            earlier.removeAll { !Self.maySend($0.asked) }
            earlier.append((pending.messages, asked))
        }
        // For what room there is: nothing may be settled before more has come.
        (isStopped, isOver, pending, tooSmall) = (false, true, nil, nil)
    }

    /// Asks for no more, until ``start()``. A pending request stays pending.
    mutating func stop() {
        isStopped = true
    }

    /// Whether the server may still deliver because of a request.
    var isPending: Bool { pending != nil }

    /// How many messages may come because of the pending request, and of those that were pending when a connection was
    /// lost, not long ago.
    var askedFor: Int {
        earlier.lazy.filter { Self.maySend($0.asked) }.reduce(pending?.messages ?? 0) { $0 + $1.messages }
    }

    /// Whether the server may still answer a request.
    private static func maySend(_ asked: ContinuousClock.Instant) -> Bool {
        asked >= .now - DurableSubscription.requestLife * 2
    }

    /// A message was delivered.
    mutating func received(bytes: Int) {
        unsettled += 1
        unsettledBytes += bytes
        tooSmall = nil
        guard let (request, messages, left) = pending else { return }
        pending = messages > 1 ? (request, messages - 1, left.map { max($0 - bytes, 0) }) : nil
    }

    /// A message that was set aside is passed on after all: until then, it took up no room.
    mutating func takenUp(bytes: Int) {
        unsettled += 1
        unsettledBytes += bytes
    }

    /// A delivered message was settled or given up, or is set aside.
    mutating func settled(bytes: Int) {
        unsettled -= 1
        unsettledBytes -= bytes
    }

    /// The server has ended a request.
    ///
    /// - Returns: Whether the consumer has to be created again before the next one.
    mutating func ended(_ number: UInt64, _ end: End) -> Bool {
        guard let (request, _, left) = pending, request.number == number else { return false }
        pending = nil
        switch end {
        case .over:
            isOver = true
            return false
        case .tooLarge:
            tooSmall = left
            return false
        case .unavailable:
            isStopped = true
            return true
        }
    }

    /// Nothing was heard of the pending request for too long: it is lost.
    ///
    /// - Returns: Whether there was one.
    mutating func lost() -> Bool {
        defer { pending = nil }
        return pending != nil
    }

    /// The request to make now; nil if one is pending, or there is no room.
    ///
    /// - Parameters:
    ///   - most: How many messages it may ask for.
    ///   - largest: How large a message may be, where messages are expected that have been delivered before; nil
    ///     elsewhere. Then the request has no limit in bytes, and asks for as many as fit however large they are: a
    ///     server (2.9.10) that finds one too large for the limit forgets to deliver it again until it has waited,
    ///     and delivers its last one again instead.
    mutating func next(atMost most: Int = .max, upTo largest: Int? = nil) -> Request? {
        guard !isStopped, pending == nil, most > 0, let (free, bytes) = room(upTo: largest) else { return nil }
        let messages = min(free, most)
        isOver = false
        lastNumber += 1
        let request = Request(number: lastNumber, messages: messages, bytes: bytes)
        (pending, asked) = ((request, messages, bytes), .now)
        return request
    }

    /// Whether nothing is pending, and there is too little room to ask for more.
    func isFull(upTo largest: Int?) -> Bool { pending == nil && room(upTo: largest) == nil }

    private func room(upTo largest: Int?) -> (messages: Int, bytes: Int?)? {
        if let largest {
            let messages = min(limit - unsettled, (byteLimit - unsettledBytes) / max(1, largest))
            return messages > 0 ? (messages, nil) : unsettled == 0 ? (1, nil) : nil
        }
        guard unsettled > 0 else { return tooSmall == byteLimit ? (1, nil) : (limit, byteLimit) }
        let (messages, bytes) = (limit - unsettled, byteLimit - unsettledBytes)
        guard isOver || messages * 2 >= limit && bytes * 2 >= byteLimit else { return nil }
        guard messages > 0, bytes > tooSmall ?? 0 else { return nil }
        return (messages, bytes)
    }
}
#endif
