internal import Channels

/// What an in-memory broker knows of one transport.
final class InMemoryConnection: @unchecked Sendable {  // its variables are guarded by the broker's lock
    enum Phase { case new, connected, broken(since: ContinuousClock.Instant), closed }

    let number: Int
    var phase = Phase.new
    var events: HandlerQueue<TransportEvent>?
    /// Messages published while the connection is broken.
    var unsent: [TransportMessage] = []
    /// Its unanswered requests, in order.
    var requests: [FirstResult<TransportReply>] = []
    /// The queues of all its subscriptions, and those that ``Transport/drainSubscriptions(timeout:)`` waits
    /// for.
    var queues: [any DeliveringQueue] = []
    var drained: [any DeliveringQueue] = []
    /// Its memberships of durable names, by the places of their consumers, which it keeps while it is broken.
    var memberships: [(place: Int, member: DurableConsumer.Member)] = []

    init(_ number: Int) {
        self.number = number
    }

    var isConnected: Bool {
        if case .connected = phase { true } else { false }
    }
}

/// A ``HandlerQueue`` of any type of item.
protocol DeliveringQueue: Sendable {
    func deliver()
    func finish() async
    func close() async
}

extension HandlerQueue: DeliveringQueue {}
