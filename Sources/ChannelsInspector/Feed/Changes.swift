#if Inspector
/// What a page is told: what has changed since the version it has.
struct Changes: Sendable {
    /// A message that was posted.
    struct Message: Sendable, Encodable {
        /// Counts the messages of all channels.
        var number = 0
        /// Milliseconds since 1970.
        var time: Double
        var channel: String
        var text: String
        var sender: String?

        init(_ channel: String, _ message: Reading.Message) {
            time = message.time
            self.channel = channel
            text = message.text
            sender = message.sender
        }
    }

    var version: Int
    /// The version it had; 0 if this is everything.
    var since: Int
    /// When the switchboard was looked at, in milliseconds since 1970.
    var time: Double
    /// Another for each run of the inspector: numbers of messages begin anew.
    var instance = ""
    /// Whether posts are traced now.
    var tracing: Tracing?
    /// Versions in between that the page was too slow for.
    var missed = 0
    /// Messages in between of which only the number is known.
    var missedMessages = 0
    var channels: [Description] = []
    var numbers: [(id: Int, Numbers)] = []
    var gone: [Int] = []
    var messages: [Message] = []
    var faults: [Reading.Fault] = []
}

/// What a channel is: changes rarely.
struct Description: Sendable, Encodable {
    /// Listeners with the same owner and delivery.
    struct Ear: Sendable, Encodable {
        var owner: String
        var delivery: String
        var count: Int
    }

    var id: Int
    var name: String
    var kind: String
    var type: String
    var senders: [String]
    var listeners: [Ear]

    /// The most owners, and the most senders, that a page is told of; the rest is one entry of the graph.
    static let most = 12

    init(_ id: Int, _ channel: Reading.Channel) {
        self.id = id
        name = channel.name
        kind = channel.kind
        type = channel.type
        senders = Array(Set(channel.senders.compactMap(\.type)).sorted().prefix(Self.most))
        var ears: [[String]: Int] = [:]
        for listener in channel.listeners { ears[[listener.owner ?? "token", listener.delivery], default: 0] += 1 }
        listeners = ears.map { Ear(owner: $0.key[0], delivery: $0.key[1], count: $0.value) }
            .sorted { ($1.count, $0.owner, $0.delivery) < ($0.count, $1.owner, $1.delivery) }
            .prefix(Self.most)
            .map { $0 }
    }
}

/// What is counted of a channel: changes often, so it is sent as a row of numbers.
struct Numbers: Hashable, Sendable {
    /// Posts so far; -1 where they are not counted.
    var posts: Int
    var listeners: Int
    var waiting: Int
    var dropped: Int
    var missed: Int
    /// The longest call of a listener, in nanoseconds.
    var slowest: Int
    var faults: Int
    var unheard: Int
    var lostOwners: Int

    init(_ channel: Reading.Channel, faults: Int) {
        unheard = channel.unheard
        lostOwners = channel.lostOwners
        posts = channel.posts ?? -1
        listeners = channel.listeners.count
        waiting = channel.listeners.reduce(0) { $0 + ($1.waiting ?? 0) }
        dropped = channel.listeners.reduce(0) { $0 + ($1.dropped ?? 0) }
        missed = channel.listeners.reduce(0) { $0 + ($1.missed ?? 0) }
        slowest = channel.listeners.reduce(0) { max($0, $1.longest ?? 0) }
        self.faults = faults
    }

    fileprivate var row: [Int] {
        [posts, listeners, waiting, dropped, missed, slowest, faults, unheard, lostOwners]
    }
}

extension Changes: Encodable {
    private enum Key: String, CodingKey {
        case version, since, time, instance, tracing, missed, missedMessages, channels, numbers, gone, messages, faults
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(version, forKey: .version)
        try container.encode(since, forKey: .since)
        try container.encode(time, forKey: .time)
        if since == 0 { try container.encode(instance, forKey: .instance) }
        try container.encodeIfPresent(tracing, forKey: .tracing)
        if missed > 0 { try container.encode(missed, forKey: .missed) }
        if missedMessages > 0 { try container.encode(missedMessages, forKey: .missedMessages) }
        if !channels.isEmpty { try container.encode(channels, forKey: .channels) }
        if !numbers.isEmpty { try container.encode(numbers.map { [$0.id] + $0.1.row }, forKey: .numbers) }
        if !gone.isEmpty { try container.encode(gone, forKey: .gone) }
        if !messages.isEmpty { try container.encode(messages, forKey: .messages) }
        if !faults.isEmpty { try container.encode(faults, forKey: .faults) }
    }
}
#endif
