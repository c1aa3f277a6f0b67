#if Inspector
internal import Channels
internal import ChannelsDiagnostics

/// A picture of a switchboard for pages: its latest state, and recent entries.
///
/// All that is kept about a page is the number of the last entry that it received.
struct Picture: Sendable {
    /// Counts the pictures. If a page finds a gap in the numbers, it was too slow for those in between.
    private(set) var number = 0
    /// When the picture was taken, in milliseconds since 1970.
    private(set) var time = 0.0
    /// Identifies the run of the inspector, because numbers start again in each run.
    private let instance = Token.random()
    /// Whether posts are traced now.
    var tracing = Tracing.on
    private(set) var channels: [Row] = []
    /// The latest messages and faults, oldest first. Their numbers have no gaps.
    private(set) var entries: [Entry] = []
    private(set) var lastEntry = 0

    /// The channels of the last reading, by their identifiers.
    private var known: [ExactText: Reading.Channel] = [:]
    /// How many faults there were, by the name of the channel.
    private var faults: [ExactText: Int] = [:]

    static let mostEntries = 2_000
    static let mostNamesOfFaults = 4_096

    /// Takes a reading.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    mutating func take(_ reading: Reading) {
        number += 1
        time = reading.time
        for name in reading.faults.lazy.map({ ExactText($0.channel) })
        where faults.count < Self.mostNamesOfFaults || faults[name] != nil {
            faults[name, default: 0] += 1
        }
        var recent = reading.faults
        let before = known
        known = [:]
        channels = []
        for var channel in reading.channels {
            let id = channel.id
            let former = before[id]
            // While nothing is traced, the senders known so far are kept.
            if channel.senders.isEmpty, let former { channel.senders = former.senders }
            channel.faults = faults[ExactText(channel.name)] ?? 0
            var last = former?.lastMessage ?? 0
            // If the count is smaller, counting has started again.
            if let former, (channel.posts ?? -1) < (former.posts ?? -1) { last = 0 }
            for message in channel.messages.reversed().prefix(while: { $0.number > last }).reversed() {
                recent.append(Entry(message, of: channel.name, readAt: time))
            }
            channel.lastMessage = max(last, channel.messages.last?.number ?? 0)
            channel.messages = []
            known[id] = channel
            channels.append(Row(channel))
        }
        enter(recent)
    }

    private mutating func enter(_ recent: [Entry]) {
        // If there are too many at once, the oldest messages are left out, but no faults.
        var left = recent.count - Self.mostEntries
        for var entry in recent.sorted(by: { $0.time < $1.time }) {
            lastEntry += 1
            if left > 0, entry.kind == .message {
                left -= 1
                continue
            }
            entry.number = lastEntry
            entries.append(entry)
        }
        if entries.count > Self.mostEntries { entries.removeFirst(entries.count - Self.mostEntries) }
    }

    /// Forgets the switchboard. The numbers of pictures and entries continue, so that a page that was
    /// disconnected knows which ones it has shown.
    mutating func forget() {
        known = [:]
        faults = [:]
        channels = []
        entries = []
    }

    /// Returns the picture for a page that has received the entries up to a number.
    func after(_ entry: Int) -> Self {
        var picture = self
        picture.entries = entries.filter { $0.number > entry }
        return picture
    }

    /// Returns a channel of the last reading.
    func channel(_ id: String) -> Reading.Channel? { known[ExactText(id)] }

    /// All channels of the last reading, by name.
    var sorted: [Reading.Channel] {
        known.values.sorted { ($0.name, $0.kind) < ($1.name, $1.kind) }
    }
}

extension Picture: Encodable {
    private enum CodingKeys: String, CodingKey { case number, time, instance, tracing, channels, entries, lastEntry }

    /// A channel in a picture, without the details of the detail view.
    ///
    /// Every picture has a row for each channel, so zeros are left out.
    struct Row: Sendable, Encodable {
        var name: String
        var kind: String
        var type: String
        var senders: [String]
        /// The types of the owners of listeners.
        var owners: [String]
        /// The number of posts; nil if they are not counted.
        var posts: Int?
        var unreceived: Int?
        var lostOwners: Int?
        var faults: Int?
        var listeners: Int?
        /// How many of the listeners belong to a listener to a pattern.
        var forPatterns: Int?
        var waiting: Int?
        var dropped: Int?
        /// The longest call of a listener, in nanoseconds.
        var slowest: Int64?

        /// The maximum number of owners and of senders in a row.
        static let most = 12

        init(_ channel: Reading.Channel) {
            name = channel.name
            kind = channel.kind
            type = channel.type
            posts = channel.posts
            unreceived = channel.unreceived.nonzero
            lostOwners = channel.lostOwners.nonzero
            faults = channel.faults.nonzero
            listeners = channel.listeners.count.nonzero
            forPatterns = channel.listeners.count { $0.delivery == "pattern" }.nonzero
            waiting = channel.listeners.reduce(0) { $0 + ($1.waiting ?? 0) }.nonzero
            dropped = channel.listeners.reduce(0) { $0 + ($1.dropped ?? 0) }.nonzero
            slowest = channel.listeners.reduce(Int64(0)) { max($0, $1.longest ?? 0) }.nonzero
            senders = Self.some(of: channel.senders.lazy.compactMap(\.type))
            owners = Self.some(of: channel.listeners.lazy.map { $0.owner ?? "token" })
        }

        private static func some(of names: some Sequence<String>) -> [String] {
            var some: [String] = []
            // There are so few that searching them takes less time than a set.
            for name in names where some.count < most && !some.contains(name) { some.append(name) }
            return some.sorted()
        }
    }
}

extension BinaryInteger {
    fileprivate var nonzero: Self? { self == 0 ? nil : self }
}
#endif
