#if NATS
internal import Channels
internal import ChannelsBridge

/// How many messages of a durable name have been requested and delivered: the transitions, without locks.
///
/// At most one request is pending. The next one is made when at least half of the room is free, so that there
/// are few requests, yet messages do not have to wait for one. If the time of the last request was over
/// before it was complete, the next one asks for whatever room there is.
struct PullState {
    /// A request for messages.
    struct Request: Hashable {
        let number: UInt64
        let messages: Int
        /// Nil for no limit on their size.
        let bytes: Int?
    }

    /// How long the server keeps a request. It is short because closing waits for its end: nats-server 2.9 loses its
    /// place if messages are returned while it still has a request of a subscriber that has ended.
    static let requestLife = Duration.seconds(1)
    /// How long a request and the report of its end may be on their way.
    static let patience = Duration.milliseconds(250)

    /// The room for messages that were delivered and are not settled.
    var room: Room
    /// The pending request, and what is left of it.
    private var pending: (request: Request, messages: Int, bytes: Int?)?
    /// When the pending request is over, whatever the server says.
    private var end = ContinuousClock.now
    private var lastNumber: UInt64 = 0
    /// Whether the last request was over before it was complete.
    private var isOver = false
    /// The bytes that were left of a request when the next message was too large.
    private var tooSmall: Int?
    /// How many requests in a row were over without a word from the server, and how many are too many.
    private var silent = 0
    private static let mostSilent = 3
    /// Whether no more requests are made.
    private var isStopped = true

    init(_ room: Room) { self.room = room }

    /// The most that one request asks for.
    var largest: (messages: Int, bytes: Int) { (room.limit, room.byteLimit) }

    /// Requests messages from now on, without waiting for requests on an earlier connection or to an earlier
    /// consumer.
    mutating func start() {
        // The first request asks for whatever room there is, because perhaps nothing is settled before more
        // has arrived.
        (isStopped, isOver, pending, tooSmall, silent) = (false, true, nil, nil, 0)
    }

    /// Makes no more requests until ``start()``. A pending request stays pending.
    mutating func stop() {
        isStopped = true
    }

    /// Whether the server may still deliver because of a request.
    var isPending: Bool { pending != nil }

    /// Records that a message was delivered.
    mutating func received(bytes: Int) {
        room.take(bytes: bytes)
        (tooSmall, silent) = (nil, 0)
        guard let (request, messages, left) = pending else { return }
        pending = messages > 1 ? (request, messages - 1, left.map { max($0 - bytes, 0) }) : nil
    }

    /// Records that a delivered message was settled or given up.
    mutating func settled(bytes: Int) {
        room.giveBack(bytes: bytes)
    }

    /// Records what the server says about a request.
    ///
    /// - Returns: Whether the consumer has to be looked up before the next one.
    mutating func received(_ status: PullStatus, of number: UInt64) -> Bool {
        guard status.endsRequest else { return false }
        silent = 0
        guard let (request, _, left) = pending, request.number == number else { return false }
        pending = nil
        if status == .tooLarge { tooSmall = left } else { isOver = true }
        if status == .lookUp { isStopped = true }
        return status == .lookUp
    }

    /// Ends the pending request when its time is up. nats-server 2.9.10 does not report the end of a partly
    /// served request and reports nothing for an unknown consumer, and a report may be lost.
    ///
    /// - Returns: When to check again (nil if nothing is pending), and whether the consumer has to be looked
    ///   up before the next request, because the server was silent about several.
    mutating func expire(now: ContinuousClock.Instant) -> (next: ContinuousClock.Instant?, isUnavailable: Bool) {
        guard pending != nil else { return (nil, false) }
        guard end <= now else { return (end, false) }
        (pending, isOver, silent) = (nil, true, silent + 1)
        guard silent == Self.mostSilent else { return (nil, false) }
        isStopped = true
        return (nil, true)
    }

    /// Returns the request to make now; nil if one is pending, or there is no room.
    ///
    /// - Parameters:
    ///   - largest: The size of the largest possible message, if redeliveries are expected; otherwise nil.
    ///     The request then has no limit in bytes, and asks for as many messages as fit at that size. If
    ///     nats-server 2.9.10 finds a redelivered message too large for the limit, it postpones that message,
    ///     and delivers its last one again instead.
    mutating func next(upTo largest: Int? = nil, now: ContinuousClock.Instant = .now) -> Request? {
        guard !isStopped, pending == nil, let (messages, bytes) = roomToAskFor(upTo: largest) else { return nil }
        isOver = false
        lastNumber += 1
        let request = Request(number: lastNumber, messages: messages, bytes: bytes)
        (pending, end) = ((request, messages, bytes), now + Self.requestLife + Self.patience)
        return request
    }

    private func roomToAskFor(upTo largest: Int?) -> (messages: Int, bytes: Int?)? {
        guard room.limit > 0 else { return nil }
        let free = room.free
        if let largest {
            let messages = min(free.messages, free.bytes / max(1, largest))
            return messages > 0 ? (messages, nil) : room.isEmpty ? (1, nil) : nil
        }
        guard !room.isEmpty else { return tooSmall == room.byteLimit ? (1, nil) : (room.limit, room.byteLimit) }
        guard isOver || free.messages * 2 >= room.limit && free.bytes * 2 >= room.byteLimit else { return nil }
        return free.messages > 0 && free.bytes > tooSmall ?? 0 ? (free.messages, free.bytes) : nil
    }
}
#endif
