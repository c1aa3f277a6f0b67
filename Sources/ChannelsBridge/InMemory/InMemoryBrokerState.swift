internal import Channels

/// The state of an in-memory broker. Its transitions enqueue messages and return the queues to deliver once
/// the lock is released.
struct InMemoryBrokerState {
    struct Subscription {
        let connection: Int
        let pattern: ChannelPattern
        let group: String?
        let queue: HandlerQueue<InboundMessage>
    }

    /// A durable message for names that subscribe later.
    private struct Logged {
        let entry: DurableConsumer.Entry
        let time: Double
    }

    struct Responder {
        let connection: Int
        let queue: HandlerQueue<InboundRequest>
    }

    struct Watcher {
        let connection: Int
        let queue: HandlerQueue<StoredValue>
        var seen: UInt64
    }

    struct ConsumerKey: Hashable {
        let name: String
        let pattern: ChannelPattern
    }

    private(set) var connected: Set<Int> = []
    private var lastConnection = 0
    private var lastNumber: UInt64 = 0
    private var subscriptions: [Subscription] = []
    private var consumers: [ConsumerKey: DurableConsumer] = [:]
    /// By connection, also while it is broken.
    private var memberships: [Int: [(key: ConsumerKey, member: DurableConsumer.Member)]] = [:]
    private var responders: [String: [Responder]] = [:]
    /// How many messages each group has been given.
    private var groupTurns: [String: Int] = [:]
    private var values: [String: StoredValue] = [:]
    private var watchers: [String: [Watcher]] = [:]
    private var log = Fifo<Logged>()
    private var published = RecentMessages<Void>(limit: 65_536)

    // MARK: Connections

    mutating func newConnection() -> Int {
        lastConnection += 1
        return lastConnection
    }

    mutating func connect(_ connection: Int) {
        connected.insert(connection)
    }

    /// The connection is broken or closed: nothing more is delivered to it, and its unsettled messages go to
    /// others.
    mutating func disconnect(_ connection: Int, forEver: Bool, _ broker: InMemoryBroker) -> [HandlerQueue<
        InboundMessage
    >] {
        connected.remove(connection)
        if forEver {
            unsubscribe(connection)
            for subject in watchers.keys { watchers[subject]?.removeAll { $0.connection == connection } }
            memberships[connection] = nil
        }
        for key in Array(consumers.keys) { consumers[key]?.leave(connection) }
        return feedAll(broker)
    }

    /// Its messages that are not durable, and its requests, go to others.
    mutating func unsubscribe(_ connection: Int) {
        subscriptions.removeAll { $0.connection == connection }
        for subject in responders.keys { responders[subject]?.removeAll { $0.connection == connection } }
    }

    /// The connection is restored.
    mutating func reconnect(_ connection: Int, _ broker: InMemoryBroker) -> [HandlerQueue<InboundMessage>] {
        connected.insert(connection)
        for (key, member) in memberships[connection] ?? [] { join(key, member) }
        return feedAll(broker)
    }

    private mutating func join(_ key: ConsumerKey, _ member: DurableConsumer.Member) {
        consumers[key, default: DurableConsumer(pattern: key.pattern)].join(member)
    }

    // MARK: Messages

    /// Enqueues a message for every subscription that matches.
    mutating func publish(_ message: TransportMessage) -> [HandlerQueue<InboundMessage>] {
        var reached: [HandlerQueue<InboundMessage>] = []
        var groups: [String: [HandlerQueue<InboundMessage>]] = [:]
        for subscription in subscriptions
        where connected.contains(subscription.connection) && subscription.pattern.matches(message.subject) {
            if let group = subscription.group {
                groups[group, default: []].append(subscription.queue)
            } else {
                reached.append(subscription.queue)
            }
        }
        for (group, queues) in groups {
            reached.append(queues[groupTurns[group, default: 0] % queues.count])
            groupTurns[group, default: 0] &+= 1
        }
        for queue in reached { queue.enqueue(InboundMessage(message)) }
        return reached
    }

    /// Stores a message for every durable name that matches, and enqueues it for every subscription.
    ///
    /// - Returns: Nil if a message with its identifier was stored before.
    mutating func publishDurably(_ message: TransportMessage, _ broker: InMemoryBroker) throws -> [HandlerQueue<
        InboundMessage
    >]? {
        let identity = message.headers[TransportHeaders.id].map { MessageKey($0) }
        if let identity, published[identity] != nil { return nil }
        let matching = consumers.keys.filter { $0.pattern.matches(message.subject) }
        for key in matching where consumers[key]!.count >= broker.limits.keptMessages {  // a key of the dictionary
            let detail = "\(broker.limits.keptMessages) messages are kept for \(quoted(key.name))"
            throw BridgeError(.bufferFull, subject: message.subject, detail: detail)
        }
        if let identity { published[identity] = () }
        lastNumber += 1
        let entry = DurableConsumer.Entry(number: lastNumber, message: message)
        if broker.limits.replayedMessages > 0 {
            log.append(Logged(entry: entry, time: Timestamp.now.secondsSince1970))
            if log.count > broker.limits.replayedMessages { _ = log.popFirst() }
        }
        var reached = publish(message)
        for key in matching {
            consumers[key]?.add(entry)
            reached += feed(key, broker)
        }
        return reached
    }

    mutating func subscribe(
        _ connection: Int,
        _ pattern: ChannelPattern,
        group: String?,
        _ queue: HandlerQueue<InboundMessage>
    ) {
        subscriptions.append(Subscription(connection: connection, pattern: pattern, group: group, queue: queue))
    }

    mutating func subscribeDurably(
        _ key: ConsumerKey,
        _ member: DurableConsumer.Member,
        from start: ReplayStart?,
        _ broker: InMemoryBroker
    ) -> [HandlerQueue<InboundMessage>] {
        if consumers[key] == nil, let start { begin(key, from: start.position) }
        memberships[member.connection, default: []].append((key, member))
        join(key, member)
        return feed(key, broker)
    }

    /// Stores earlier messages for a name that is new.
    private mutating func begin(_ key: ConsumerKey, from position: ReplayStart.Position) {
        var consumer = DurableConsumer(pattern: key.pattern)
        for logged in log where key.pattern.matches(logged.entry.message.subject) {
            let isWanted =
                switch position {
                case .stored: true
                case .new: false
                case .time(let seconds): logged.time >= seconds
                case .sequence(let number): logged.entry.number >= number
                }
            if isWanted { consumer.add(logged.entry) }
        }
        consumers[key] = consumer
    }

    /// Settles a durable message.
    ///
    /// - Returns: The queues to deliver now, and the entry to deliver again after the delay of the
    ///   settlement.
    mutating func settle(
        _ key: ConsumerKey,
        _ number: UInt64,
        delivery: Int,
        _ settlement: Settlement,
        _ broker: InMemoryBroker
    ) -> (reached: [HandlerQueue<InboundMessage>], delayed: DurableConsumer.Entry?) {
        guard let entry = consumers[key]?.takeUnsettled(number, delivery: delivery) else { return ([], nil) }
        if case .retry(let delay) = settlement {
            guard delay <= .zero else { return (feed(key, broker), entry) }
            consumers[key]?.wait(entry)
        }
        return (feed(key, broker), nil)
    }

    /// The delay of a message is over.
    mutating func redeliver(_ key: ConsumerKey, _ entry: DurableConsumer.Entry, _ broker: InMemoryBroker)
        -> [HandlerQueue<InboundMessage>]
    {
        consumers[key]?.wait(entry)
        return feed(key, broker)
    }

    private mutating func feedAll(_ broker: InMemoryBroker) -> [HandlerQueue<InboundMessage>] {
        Array(consumers.keys).flatMap { feed($0, broker) }
    }

    /// Enqueues the messages of a durable name that may be delivered now.
    private mutating func feed(_ key: ConsumerKey, _ broker: InMemoryBroker) -> [HandlerQueue<InboundMessage>] {
        var reached: [HandlerQueue<InboundMessage>] = []
        while let (entry, member) = consumers[key]?.next() {
            let delivery = entry.deliveries
            member.queue.enqueue(
                InboundMessage(
                    entry.message,
                    deliveryCount: delivery,
                    identity: String(entry.number),
                    sequence: entry.number
                ) { [weak broker] settlement in
                    broker?.settle(key, entry.number, delivery: delivery, settlement)
                }
            )
            reached.append(member.queue)
        }
        return reached
    }

    // MARK: Requests

    /// The next responder of a subject, in turn; nil if there is none.
    mutating func responder(of subject: String) -> HandlerQueue<InboundRequest>? {
        guard let index = responders[subject]?.firstIndex(where: { connected.contains($0.connection) }),
            let responder = responders[subject]?.remove(at: index)
        else { return nil }
        responders[subject]?.append(responder)
        return responder.queue
    }

    mutating func respond(_ connection: Int, _ subject: String, _ queue: HandlerQueue<InboundRequest>) {
        responders[subject, default: []].append(Responder(connection: connection, queue: queue))
    }

    // MARK: Last values

    func hasValue(_ subject: String) -> Bool { values[subject] != nil }

    mutating func store(_ message: TransportMessage) -> (revision: UInt64, reached: [HandlerQueue<StoredValue>]) {
        lastNumber += 1
        let value = StoredValue(message, revision: lastNumber)
        values[message.subject] = value
        return (lastNumber, tellWatchers(of: message.subject))
    }

    mutating func watch(_ connection: Int, _ subject: String, _ queue: HandlerQueue<StoredValue>) -> [HandlerQueue<
        StoredValue
    >] {
        watchers[subject, default: []].append(Watcher(connection: connection, queue: queue, seen: 0))
        return tellWatchers(of: subject)
    }

    /// Enqueues the values that restored connections have missed.
    mutating func tellWatchers() -> [HandlerQueue<StoredValue>] {
        Array(watchers.keys).flatMap { tellWatchers(of: $0) }
    }

    private mutating func tellWatchers(of subject: String) -> [HandlerQueue<StoredValue>] {
        guard let value = values[subject] else { return [] }
        var reached: [HandlerQueue<StoredValue>] = []
        for index in watchers[subject, default: []].indices {
            guard let watcher = watchers[subject]?[index], watcher.seen < value.revision,
                connected.contains(watcher.connection)
            else { continue }
            watchers[subject]?[index].seen = value.revision
            watcher.queue.enqueue(value)
            reached.append(watcher.queue)
        }
        return reached
    }
}
