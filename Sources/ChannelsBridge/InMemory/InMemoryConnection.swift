internal import Channels

/// What an in-memory broker knows of one transport.
final class InMemoryConnection: @unchecked Sendable {  // what changes is touched with the lock of the broker held
    enum Phase { case new, connected, broken(since: ContinuousClock.Instant), closed }

    let number: Int
    var phase = Phase.new
    var events: HandlerQueue<TransportEvent>?
    /// Published while the connection is broken.
    var unsent: [TransportMessage] = []
    var requests: [ObjectIdentifier: FirstResult<TransportReply>] = [:]
    /// The queues of its subscriptions, and those of them that are not of durable messages.
    var queues: [any DeliveringQueue] = []
    var drained: [any DeliveringQueue] = []
    /// Of the durable names that it has subscribed with, also while it is broken.
    var memberships: [(key: InMemoryBrokerState.ConsumerKey, member: DurableConsumer.Member)] = []

    init(_ number: Int) {
        self.number = number
    }

    var isConnected: Bool {
        if case .connected = phase { true } else { false }
    }
}

/// A ``HandlerQueue`` of any items.
protocol DeliveringQueue: Sendable {
    func deliver()
    func finish() async
    func close() async
}

extension HandlerQueue: DeliveringQueue {}
