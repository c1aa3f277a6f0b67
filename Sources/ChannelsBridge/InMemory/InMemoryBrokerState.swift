internal import Channels

/// The state of an in-memory broker: the transitions, without locks. They enqueue messages in queues, which
/// ``takeReached()`` returns for delivery once the lock is released.
struct InMemoryBrokerState {
    private struct Subscription {
        let connection: InMemoryConnection
        let pattern: ChannelPattern
        let group: ExactText?
        let queue: HandlerQueue<InboundMessage>
    }

    private struct Watcher {
        let connection: InMemoryConnection
        let pattern: ChannelPattern
        let queue: HandlerQueue<StoredValue>
        /// The highest revision that it has received. Revisions of all subjects form one order.
        var seen: UInt64 = 0
    }

    private struct ConsumerKey: Hashable {
        let name: ExactText
        let pattern: ChannelPattern
    }

    /// Called when a durable message is settled, or released without being settled, with the place of its consumer.
    var onSettle: @Sendable (Int, DurableConsumer.Entry, Settlement?) -> Void = { _, _, _ in }
    private let limits: InMemoryBroker.Limits
    private var reached: [any DeliveringQueue] = []
    private var lastConnection = 0
    private var lastNumber: UInt64 = 0
    private var subscriptions: [Subscription] = []
    /// In the order of their first subscriptions. None is ever removed.
    private var consumers: [DurableConsumer] = []
    private var places: [ConsumerKey: Int] = [:]
    private var responders: [ExactText: [(connection: InMemoryConnection, queue: HandlerQueue<InboundRequest>)]] = [:]
    /// How many messages each group has received.
    private var groupTurns: [ExactText: Int] = [:]
    private var values: [ExactText: StoredValue] = [:]
    private var watchers: [Watcher] = []
    /// The durable messages kept for names that subscribe later, and when they were stored.
    private var log = Fifo<DurableConsumer.Entry>()
    /// Kept until somebody puts them back or drops them, though the log is shorter.
    private var letters: [DurableConsumer.Entry] = []
    private var published = RecentMessages<Void>(limit: 65_536)

    init(_ limits: InMemoryBroker.Limits) {
        self.limits = limits
    }

    private mutating func enqueue<Item>(_ item: Item, in queue: HandlerQueue<Item>) {
        queue.enqueue(item)
        reached.append(queue)
    }

    /// The queues in which something was enqueued since the last call.
    mutating func takeReached() -> [any DeliveringQueue] {
        defer { reached = [] }
        return reached
    }

    // MARK: Connections

    mutating func newConnection() -> InMemoryConnection {
        lastConnection += 1
        return InMemoryConnection(lastConnection)
    }

    mutating func connect(_ connection: InMemoryConnection, _ events: HandlerQueue<TransportEvent>) throws {
        switch connection.phase {
        case .new, .closed: connection.phase = .connected
        case .connected, .broken:
            throw BridgeError(.alreadyRunning, detail: "the transport is connected: close it first")
        }
        connection.events = events
        enqueue(.connected, in: events)
    }

    /// Closes a connection. Nothing more is delivered to it, and its unsettled messages go to others.
    mutating func close(_ connection: InMemoryConnection) {
        connection.phase = .closed
        unsubscribe(connection)
        watchers.removeAll { $0.connection === connection }
        connection.memberships = []
        leaveConsumers(connection)
    }

    /// Breaks a connection. Until it is restored, nothing is delivered to it, and its unsettled messages go
    /// to others.
    ///
    /// - Returns: The requests that have to fail.
    mutating func breakOff(_ connection: InMemoryConnection) -> [FirstResult<TransportReply>] {
        guard connection.isConnected else { return [] }
        connection.phase = .broken(since: .now)
        if let events = connection.events { enqueue(.disconnected(reason: nil), in: events) }
        leaveConsumers(connection)
        defer { connection.requests = [] }
        return connection.requests
    }

    private mutating func leaveConsumers(_ connection: InMemoryConnection) {
        for place in consumers.indices {
            consumers[place].leave(connection.number)
            feed(place)
        }
    }

    /// Ends the subscriptions to messages that are not durable and to requests, which then go to others.
    mutating func unsubscribe(_ connection: InMemoryConnection) {
        subscriptions.removeAll { $0.connection === connection }
        for subject in responders.keys { responders[subject]?.removeAll { $0.connection === connection } }
    }

    /// Restores a connection: messages that it published meanwhile are sent, and those that it missed are
    /// delivered.
    mutating func restore(_ connection: InMemoryConnection) {
        guard case .broken(let since) = connection.phase else { return }
        connection.phase = .connected
        if let events = connection.events {
            enqueue(.reconnected(gap: since.duration(to: .now), unsent: 0), in: events)
        }
        for (place, member) in connection.memberships { join(place, member) }
        for message in connection.unsent { publish(message) }
        connection.unsent = []
        for place in watchers.indices where watchers[place].connection === connection { tellEverything(to: place) }
    }

    private mutating func join(_ place: Int, _ member: DurableConsumer.Member) {
        consumers[place].join(member)
        feed(place)
    }

    // MARK: Messages

    /// Enqueues a message for every subscription that matches.
    mutating func publish(_ message: TransportMessage) {
        let inbound = InboundMessage(message)
        var groups: [(name: ExactText, queues: [HandlerQueue<InboundMessage>])] = []
        for subscription in subscriptions
        where subscription.connection.isConnected && subscription.pattern.matches(message.subject) {
            if let group = subscription.group {
                let index = groups.firstIndex { $0.name == group } ?? groups.endIndex
                if index == groups.endIndex { groups.append((group, [])) }
                groups[index].queues.append(subscription.queue)
            } else {
                enqueue(inbound, in: subscription.queue)
            }
        }
        for (group, queues) in groups {
            enqueue(inbound, in: queues[groupTurns[group, default: 0] % queues.count])
            groupTurns[group, default: 0] &+= 1
        }
    }

    /// Stores a message for every durable name that matches, and enqueues it for every subscription.
    ///
    /// - Returns: Whether it was stored; false if a message with its identifier was stored before.
    mutating func publishDurably(_ message: TransportMessage) throws -> Bool {
        let identity = message.headers[TransportHeaders.id].map { MessageKey($0) }
        if let identity, published[identity] != nil { return false }
        let matching = consumers.indices.filter { consumers[$0].pattern.matches(message.subject) }
        for place in matching where consumers[place].count >= limits.keptMessages {
            let detail = "\(limits.keptMessages) messages are kept for \(quoted(consumers[place].name)), the limit"
            throw BridgeError(.bufferFull, subject: message.subject, detail: detail)
        }
        if message.isDeadLetter, letters.count >= limits.keptMessages {
            let detail = "\(limits.keptMessages) dead letters are kept, the limit"
            throw BridgeError(.bufferFull, subject: message.subject, detail: detail)
        }
        if let identity { published[identity] = () }
        lastNumber += 1
        let time = Timestamp.now.secondsSince1970
        let entry = DurableConsumer.Entry(number: lastNumber, message: message, secondsSince1970: time)
        if limits.replayedMessages > 0 {
            log.append(entry)
            if log.count > limits.replayedMessages { _ = log.popFirst() }
        }
        if message.isDeadLetter { letters.append(entry) }
        publish(message)
        for place in matching {
            consumers[place].add(entry)
            feed(place)
        }
        return true
    }

    mutating func subscribe(
        _ connection: InMemoryConnection,
        _ wanted: TransportSubscription,
        _ queue: HandlerQueue<InboundMessage>
    ) {
        connection.queues.append(queue)
        guard let name = wanted.durableName else {
            connection.drained.append(queue)
            return subscriptions.append(
                Subscription(
                    connection: connection,
                    pattern: wanted.pattern,
                    group: wanted.group.map { ExactText($0) },
                    queue: queue
                )
            )
        }
        let member = DurableConsumer.Member(
            connection: connection.number,
            queue: queue,
            room: Room(messages: wanted.prefetchLimit, bytes: wanted.prefetchByteLimit)
        )
        let place = place(of: name, on: wanted.pattern, from: (wanted.start ?? .beginning).position)
        connection.memberships.append((place, member))
        join(place, member)
    }

    /// Changes how many messages of a durable name a connection may hold.
    mutating func limit(_ connection: InMemoryConnection, _ name: String, on pattern: ChannelPattern, to limit: Int) {
        guard let place = places[ConsumerKey(name: ExactText(name), pattern: pattern)] else { return }
        for index in connection.memberships.indices where connection.memberships[index].place == place {
            connection.memberships[index].member.room.limit = limit
        }
        consumers[place].limit(connection.number, to: limit)
        feed(place)
    }

    func unsettledCount(of name: String, on pattern: ChannelPattern) -> Int {
        places[ConsumerKey(name: ExactText(name), pattern: pattern)].map { consumers[$0].count } ?? 0
    }

    /// The messages after a number that are stored for names that subscribe later, and the letters.
    func stored(after number: UInt64, on pattern: ChannelPattern) -> [StoredMessage] {
        let first = log.first?.number ?? .max
        return (letters.filter { $0.number < first } + log)
            .filter { $0.number > number && pattern.matches($0.message.subject) }
            .map { StoredMessage(number: $0.number, $0.message, secondsSince1970: $0.secondsSince1970) }
    }

    /// Removes a message, except where it has been delivered and is unsettled.
    mutating func remove(_ number: UInt64) {
        log.removeAll { $0.number == number }
        letters.removeAll { $0.number == number }
        for place in consumers.indices { consumers[place].removeWaiting(number) }
    }

    /// The place of a name. If it is new, begins to store messages for it, including earlier ones from a position on.
    private mutating func place(
        of name: String,
        on pattern: ChannelPattern,
        from position: ReplayStart.Position
    ) -> Int {
        let key = ConsumerKey(name: ExactText(name), pattern: pattern)
        if let place = places[key] { return place }
        var consumer = DurableConsumer(name: name, pattern: pattern)
        for entry in log where pattern.matches(entry.message.subject) {
            let isWanted =
                switch position {
                case .beginning: true
                case .new: false
                case .time(let seconds): entry.secondsSince1970 >= seconds
                case .sequence(let number): entry.number >= number
                }
            if isWanted { consumer.add(entry) }
        }
        consumers.append(consumer)
        places[key] = consumers.endIndex - 1
        return consumers.endIndex - 1
    }

    /// Settles a durable message.
    ///
    /// - Returns: The delay after which to deliver it again; nil if it is not delivered again.
    mutating func settle(_ place: Int, _ entry: DurableConsumer.Entry, _ settlement: Settlement) -> Duration? {
        defer { feed(place) }
        if case .retry(let delay) = settlement, delay > .zero {
            return consumers[place].delay(entry.number, delivery: entry.deliveries) ? delay : nil
        }
        let taken = consumers[place].takeUnsettled(entry.number, delivery: entry.deliveries)
        if taken != nil, case .retry = settlement { consumers[place].wait(entry) }
        return nil
    }

    /// Delivers a delayed message again, unless it went to another connection meanwhile.
    mutating func redeliver(_ entry: DurableConsumer.Entry, _ place: Int) {
        guard consumers[place].takeDelayed(entry.number, delivery: entry.deliveries) != nil else { return }
        consumers[place].wait(entry)
        feed(place)
    }

    /// Enqueues the messages of a durable name that may be delivered now.
    private mutating func feed(_ place: Int) {
        while let (entry, member) = consumers[place].next() {
            var inbound = InboundMessage(
                entry.message,
                deliveryCount: entry.deliveries,
                identity: String(entry.number),
                sequence: entry.number
            ) { [onSettle] settlement in onSettle(place, entry, settlement) }
            inbound.secondsSince1970 = entry.secondsSince1970
            enqueue(inbound, in: member.queue)
        }
    }

    // MARK: Requests

    /// Enqueues a request for the next responder of its subject, in turn.
    mutating func request(
        _ connection: InMemoryConnection,
        _ message: TransportMessage,
        _ first: FirstResult<TransportReply>
    ) throws {
        let subject = ExactText(message.subject)
        guard let index = responders[subject]?.firstIndex(where: { $0.connection.isConnected }),
            let responder = responders[subject]?.remove(at: index)
        else { throw BridgeError(.noResponder, subject: message.subject) }
        responders[subject]?.append(responder)
        connection.requests.append(first)
        enqueue(InboundRequest(message) { first.finish(.success($0)) }, in: responder.queue)
    }

    mutating func respond(_ connection: InMemoryConnection, _ subject: String, _ queue: HandlerQueue<InboundRequest>) {
        connection.queues.append(queue)
        connection.drained.append(queue)
        responders[ExactText(subject), default: []].append((connection, queue))
    }

    // MARK: Last values

    func hasValue(_ subject: String) -> Bool { values[ExactText(subject)] != nil }

    /// - Returns: The revision.
    mutating func store(_ message: TransportMessage) -> UInt64 {
        lastNumber += 1
        let subject = ExactText(message.subject)
        let value = StoredValue(message, revision: lastNumber)
        values[subject] = value
        for place in watchers.indices { tell(value, to: place) }
        return lastNumber
    }

    mutating func watch(_ connection: InMemoryConnection, _ pattern: ChannelPattern, _ queue: HandlerQueue<StoredValue>)
    {
        connection.queues.append(queue)
        watchers.append(Watcher(connection: connection, pattern: pattern, queue: queue))
        tellEverything(to: watchers.count - 1)
    }

    /// Enqueues for one watcher the stored values that it has not received.
    private mutating func tellEverything(to place: Int) {
        let watcher = watchers[place]
        let matching = values.values.filter {
            $0.revision > watcher.seen && watcher.pattern.matches($0.message.subject)
        }
        for value in matching.sorted(by: { $0.revision < $1.revision }) { tell(value, to: place) }
    }

    private mutating func tell(_ value: StoredValue, to place: Int) {
        let watcher = watchers[place]
        guard watcher.connection.isConnected, watcher.pattern.matches(value.message.subject) else { return }
        watchers[place].seen = value.revision
        enqueue(value, in: watcher.queue)
    }
}
