#if NATS
import Channels

/// What a durable subscription has asked for, taken over and been given.
extension DurableSubscription {
    /// A message, on its way to the handler.
    struct Arrival {
        let message: NATSMessage
        let delivery: Delivery
        let held: HeldMessage
        let bytes: Int
    }

    /// What was lost with a connection.
    struct Lost {
        var found: ConsumerState
        /// The sequences in the stream of the messages that are here.
        var held: Set<UInt64>
        /// Of those that were here when the server had said that.
        var heldSince: Set<UInt64> = []
        /// How many messages come again.
        var count = 0
        /// Whether others may have been given some that are not here.
        var isShared = false
        /// The number of the last delivery that may have been made before they come.
        var lastEarlier: UInt64 = 0
    }

    struct State {
        var pull: PullState
        var takeover = Takeover<Arrival>(unsettled: 0, last: 0)
        var run = DeliveryRun()
        /// The size of the largest message that the server takes.
        var largest = Int.max
        /// Until when messages may come again that this process has not handled.
        fileprivate(set) var returned: ContinuousClock.Instant?
        var began = ContinuousClock.now
        var lastHeard = ContinuousClock.now
        var lastAsked = ContinuousClock.now
        /// The stream when this began, where that says where the consumer begins.
        var origin: StreamIdentity?
        /// Whether the consumer has to be created before messages are asked for.
        var needsConsumer = false
        var isClosing = false
        var subscription: NATSSubscription?
        /// Tells other processes of the name that this one lives.
        var presence: NATSSubscription?
        /// Whether it may do so.
        var tellsPresence = false
        var unsettled: UnsettledMessages?
        /// Creates the consumer again. Cancelled by ``DurableSubscription/close()``.
        var restarting: Task<Void, Never>?
        /// How often there was another connection after one that was lost.
        var resumptions = 0
        /// Whether the consumer is created again after a reconnection.
        var isRestoring = false
        /// Looks at what others have not settled. Cancelled by ``DurableSubscription/close()``.
        var looking: Task<Void, Never>?
    }
}

extension DurableSubscription.State {
    /// The size for which there has to be room, while messages come that have been delivered before.
    private var expected: Int? { takeover.isOver && returned == nil ? nil : largest }

    /// A message has been returned.
    mutating func expectAgain(until time: ContinuousClock.Instant) { returned = max(returned ?? time, time) }

    /// The request to make now.
    mutating func nextRequest() -> PullState.Request? {
        if let time = returned, time < .now { returned = nil }
        return pull.next(atMost: takeover.limit, upTo: expected)
    }

    /// A message was delivered.
    ///
    /// - Returns: What to pass on, in order; nil for this message alone.
    mutating func received(_ arrival: DurableSubscription.Arrival) -> [DurableSubscription.Arrival]? {
        received(arrival.delivery, bytes: arrival.bytes)
        guard !takeover.isOver else { return nil }
        let wasOrdering = takeover.isOrdering
        let delivery = arrival.delivery
        let passed = takeover.received(
            arrival,
            sequence: delivery.streamSequence,
            number: delivery.consumerSequence
        )
        if takeover.isOrdering { return passWhereFull() }
        // What is set aside takes up no room: the older messages need it.
        if passed.isEmpty { pull.settled(bytes: arrival.bytes) }
        if !wasOrdering { for other in passed where other.held !== arrival.held { pull.takenUp(bytes: other.bytes) } }
        return passed
    }

    mutating func received(_ delivery: Delivery, bytes: Int) {
        lastHeard = .now
        run.received(delivery.consumerSequence, sequence: delivery.streamSequence)
        pull.received(bytes: bytes)
    }

    /// The server has ended a request.
    ///
    /// - Returns: What to pass on.
    mutating func ended(_ number: UInt64, _ end: PullState.End) -> [DurableSubscription.Arrival] {
        lastHeard = .now
        // What was lost comes because of later ones.
        let isObsolete = number < pull.lastNumber && takeover.isRestoring
        if pull.ended(number, end) { needsConsumer = true }
        if isObsolete { return [] }
        guard end == .over else { return passWhereFull() }
        let isNewer = !takeover.isOrdering
        let passed = takeover.requestEnded()
        return isNewer ? takenUp(passed) : passed
    }

    /// Asks for no more, and sets aside what comes, until it is known what was lost with the connection.
    mutating func findLost() {
        run.lost(askedFor: pull.askedFor)
        pull.stop()
        takeover.ask()
        lastHeard = .now
    }

    /// It is known what was lost, and the consumer is there.
    mutating func restore(_ lost: DurableSubscription.Lost) {
        let found = lost.found
        // What was settled since the server was asked has been here, too.
        let isMissing = found.missing(besides: lost.heldSince.union(held)) > 0
        if lost.count > 0 || !isMissing && !lost.isShared {
            run.markAlone(upTo: found.lastDelivery)
        } else if lost.isShared || !run.wasAlone(in: found) {
            run.markShared(upTo: found.lastDelivery)
        } else {
            run.goOn()
        }
        (needsConsumer, lastHeard) = (false, .now)
        takeover.restore(lost.count, besides: lost.held, last: found.lastDelivered, after: lost.lastEarlier)
        pull.start()
    }

    /// The sequences in the stream of the messages that are here.
    var held: Set<UInt64> { unsettled?.sequences ?? [] }

    /// It cannot be found out now.
    ///
    /// - Returns: What to pass on.
    mutating func stopFindingLost() -> [DurableSubscription.Arrival] { takenUp(takeover.stopAsking()) }

    private mutating func takenUp(_ arrivals: [DurableSubscription.Arrival]) -> [DurableSubscription.Arrival] {
        for arrival in arrivals { pull.takenUp(bytes: arrival.bytes) }
        return arrivals
    }

    /// What is set aside, where it takes up the room that the next message needs.
    private mutating func passWhereFull() -> [DurableSubscription.Arrival] {
        pull.isFull(upTo: expected) ? takeover.takeSetAside() : []
    }
}
#endif
