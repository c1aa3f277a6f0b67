internal import Channels

/// The unsettled messages of one durable name and pattern at an in-memory broker: the transitions, without
/// locks.
struct DurableConsumer {
    /// One subscription to it.
    struct Member {
        let connection: Int
        let queue: HandlerQueue<InboundMessage>
    }

    struct Entry {
        let number: UInt64
        let message: TransportMessage
        var deliveries = 0
    }

    private struct Unsettled {
        let entry: Entry
        let connection: Int
    }

    let pattern: ChannelPattern
    /// By number. Those before `first` have been taken.
    private var waiting: [Entry] = []
    private var first = 0
    private var unsettled: [UInt64: Unsettled] = [:]
    private var members: [Member] = []
    private var turn = 0

    /// How many messages may be delivered and unsettled at a time.
    private static let mostUnsettled = 512

    init(pattern: ChannelPattern) {
        self.pattern = pattern
    }

    /// How many messages are stored: waiting or unsettled.
    var count: Int { waiting.count - first + unsettled.count }

    mutating func join(_ member: Member) {
        members.append(member)
    }

    /// A connection has ended: its unsettled messages wait again.
    mutating func leave(_ connection: Int) {
        members.removeAll { $0.connection == connection }
        for (number, left) in unsettled where left.connection == connection {
            unsettled[number] = nil
            wait(left.entry)
        }
    }

    mutating func add(_ entry: Entry) {
        waiting.append(entry)
    }

    /// Puts an entry back, in order, to be delivered again.
    mutating func wait(_ entry: Entry) {
        let index = waiting[first...].firstIndex { $0.number > entry.number } ?? waiting.endIndex
        waiting.insert(entry, at: index)
    }

    /// Removes a delivered message that is unsettled; nil if this delivery was settled already or the message
    /// has been delivered again since.
    mutating func takeUnsettled(_ number: UInt64, delivery: Int) -> Entry? {
        guard let found = unsettled[number], found.entry.deliveries == delivery else { return nil }
        unsettled[number] = nil
        return found.entry
    }

    /// The next message to deliver, and its receiver; nil if no message waits, no member is connected, or the
    /// limit of unsettled messages is reached.
    mutating func next() -> (entry: Entry, member: Member)? {
        guard first < waiting.count, !members.isEmpty, unsettled.count < Self.mostUnsettled else { return nil }
        turn = (turn + 1) % members.count
        let member = members[turn]
        var entry = waiting[first]
        first += 1
        // Half of it has been taken: each entry is moved once, on average.
        if first * 2 >= waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        entry.deliveries += 1
        unsettled[entry.number] = Unsettled(entry: entry, connection: member.connection)
        return (entry, member)
    }
}
