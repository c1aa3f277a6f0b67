#if Inspector
/// What is known of a switchboard, and since when: a pure state machine.
///
/// Each reading makes a version. A page says which version it has and gets what has changed since, so that one
/// that missed ten versions gets one picture, not ten, and nothing is kept for a page between two pictures.
struct History: Sendable {
    /// Identifies a channel for as long as it is seen.
    private struct Key: Hashable {
        var kind: String
        var name: String
    }

    private struct Entry {
        let id: Int
        var channel: Reading.Channel
        var numbers: Numbers
        /// The versions at which what it is, and what is counted, last changed.
        var described: Int
        var counted: Int
        /// The last version in which it was there.
        var seen: Int
        /// The number of its last message that was taken.
        var lastMessage: Int
    }

    /// A channel that is gone.
    private struct Gone {
        let id: Int
        let version: Int
    }

    /// The number of readings taken.
    private(set) var version = 0
    private var entries: [Key: Entry] = [:]
    private var keys: [Int: Key] = [:]
    private var gone: [Gone] = []
    /// Pages that have this version or an older one get the whole picture.
    private var forgotten = 0
    private var nextID = 1
    /// The last ones, oldest first. Numbers count up without a gap.
    private var messages: [Changes.Message] = []
    private var lastMessage = 0
    private var faults: [Reading.Fault] = []
    /// By the name of the channel.
    private var faultTotals: [String: Int] = [:]
    private var lastFault = 0
    /// The last message and fault as of a version, for the few versions a page in time may have.
    private var marks: [(version: Int, message: Int, fault: Int)] = []
    private var time = 0.0

    /// How many of each are remembered.
    static let mostGone = 4_096
    static let mostMarks = 128
    static let mostMessages = 2_000
    static let mostNamesOfFaults = 4_096

    init() {}

    /// Starts again with nothing known. Versions, messages and faults go on being numbered: a page that was
    /// disconnected knows which it has shown.
    init(after former: History) {
        version = former.version
        forgotten = former.version
        lastMessage = former.lastMessage
        lastFault = former.lastFault
    }

    /// Takes what was found at a time, in milliseconds since 1970.
    ///
    /// - Complexity: O(*n*) in the number of channels.
    mutating func take(_ reading: Reading, at time: Double) {
        version += 1
        self.time = time
        take(reading.faults)
        var recent: [Changes.Message] = []
        for channel in reading.channels {
            let key = Key(kind: channel.kind, name: channel.name)
            let numbers = Numbers(channel, faults: faultTotals[channel.name] ?? 0)
            var entry: Entry
            if let known = entries[key] {
                entry = known
                entry.channel = channel
                // What is known of them stays known while nothing is traced.
                if channel.senders.isEmpty { entry.channel.senders = known.channel.senders }
                if !entry.channel.isDescribed(as: known.channel) { entry.described = version }
                if known.numbers != numbers { entry.counted = version }
                if numbers.posts < known.numbers.posts { entry.lastMessage = 0 }
                entry.numbers = numbers
                entry.seen = version
            } else {
                entry = Entry(
                    id: nextID,
                    channel: channel,
                    numbers: numbers,
                    described: version,
                    counted: version,
                    seen: version,
                    lastMessage: 0
                )
                keys[nextID] = key
                nextID += 1
            }
            for message in channel.messages where message.number > entry.lastMessage {
                entry.lastMessage = message.number
                recent.append(Changes.Message(channel.name, message))
            }
            entry.channel.messages = []
            entries[key] = entry
        }
        forgetUnseen()
        take(recent)
        marks.append((version, lastMessage, lastFault))
        if marks.count > Self.mostMarks { marks.removeFirst(marks.count - Self.mostMarks) }
    }

    private mutating func take(_ faults: [Reading.Fault]) {
        for fault in faults where fault.number > lastFault {
            if faultTotals.count < Self.mostNamesOfFaults || faultTotals[fault.channel] != nil {
                faultTotals[fault.channel, default: 0] += 1
            }
            lastFault = fault.number
        }
        self.faults = faults
    }

    private mutating func take(_ recent: [Changes.Message]) {
        for var message in recent.sorted(by: { $0.time < $1.time }) {
            lastMessage += 1
            message.number = lastMessage
            messages.append(message)
        }
        if messages.count > Self.mostMessages { messages.removeFirst(messages.count - Self.mostMessages) }
    }

    private mutating func forgetUnseen() {
        guard entries.values.contains(where: { $0.seen != version }) else { return }
        for (key, entry) in entries where entry.seen != version {
            entries[key] = nil
            keys[entry.id] = nil
            gone.append(Gone(id: entry.id, version: version))
        }
        let excess = gone.count - Self.mostGone
        guard excess > 0 else { return }
        forgotten = gone[excess - 1].version - 1
        gone.removeFirst(excess)
    }

    /// What has changed since a version; everything, if that is 0 or too long ago.
    func changes(since version: Int) -> Changes {
        let isWhole = version <= forgotten || version > self.version || !marks.contains { $0.version == version }
        let since = isWhole ? 0 : version
        var changes = Changes(version: self.version, since: since, time: time)
        if version > 0 { changes.missed = max(0, self.version - version - 1) }
        for entry in entries.values {
            if entry.described > since { changes.channels.append(Description(entry.id, entry.channel)) }
            if entry.counted > since { changes.numbers.append((entry.id, entry.numbers)) }
        }
        if since > 0 { changes.gone = gone.filter { $0.version > since }.map(\.id) }
        let mark = marks.last { $0.version <= since } ?? (0, 0, 0)
        changes.messages = messages.filter { $0.number > mark.message }
        changes.faults = faults.filter { $0.number > mark.fault }
        if since > 0 { changes.missedMessages = lastMessage - mark.message - changes.messages.count }
        return changes
    }

    /// A channel that was there in the last reading.
    func channel(_ id: Int) -> Reading.Channel? { keys[id].flatMap { entries[$0]?.channel } }

    /// All channels of the last reading, by name.
    var channels: [Reading.Channel] {
        entries.values.map(\.channel).sorted { ($0.name, $0.kind) < ($1.name, $1.kind) }
    }

    /// Faults raised on a channel while it was watched.
    func faults(on channel: Reading.Channel) -> Int { faultTotals[channel.name] ?? 0 }
}

extension Reading.Channel {
    /// Whether it is the same but for what is counted.
    fileprivate func isDescribed(as other: Self) -> Bool {
        guard type == other.type, senders.count == other.senders.count, listeners.count == other.listeners.count else {
            return false
        }
        return zip(senders, other.senders).allSatisfy { $0.type == $1.type }
            && zip(listeners, other.listeners).allSatisfy { $0.owner == $1.owner && $0.delivery == $1.delivery }
    }
}
#endif
