internal import Channels

/// The unsettled messages of one durable name and pattern at an in-memory broker: the transitions, without
/// locks.
struct DurableConsumer {
    /// A subscription to the durable name.
    struct Member {
        let connection: Int
        let queue: HandlerQueue<InboundMessage>
        /// How much may be unsettled at this member, and how much is.
        var room: Room
    }

    struct Entry {
        let number: UInt64
        let message: TransportMessage
        let secondsSince1970: Double
        var deliveries = 0
    }

    /// A message that was delivered to a connection.
    private struct Delivered {
        let entry: Entry
        let connection: Int
        /// Whether it has been returned, and stays with the connection until it is to be delivered again.
        var isDelayed = false
    }

    let name: String
    let pattern: ChannelPattern
    /// By number.
    private var waiting = Fifo<Entry>()
    private var unsettled: [UInt64: Delivered] = [:]
    private var members: [Member] = []
    private var turn = 0

    init(name: String, pattern: ChannelPattern) {
        self.name = name
        self.pattern = pattern
    }

    /// How many messages are stored: waiting or unsettled.
    var count: Int { waiting.count + unsettled.count }

    mutating func removeWaiting(_ number: UInt64) {
        waiting.removeAll { $0.number == number }
    }

    mutating func join(_ member: Member) {
        members.append(member)
    }

    /// Removes the members of a connection that has ended. Its unsettled messages wait again, without a delay.
    mutating func leave(_ connection: Int) {
        members.removeAll { $0.connection == connection }
        for (number, left) in unsettled where left.connection == connection {
            unsettled[number] = nil
            wait(left.entry)
        }
    }

    /// Changes how many messages the members of a connection may hold.
    mutating func limit(_ connection: Int, to limit: Int) {
        for index in members.indices where members[index].connection == connection { members[index].room.limit = limit }
    }

    mutating func add(_ entry: Entry) {
        waiting.append(entry)
    }

    /// Puts an entry back in its place in the order, to be delivered again.
    mutating func wait(_ entry: Entry) {
        waiting.insert(entry) { $0.number > entry.number }
    }

    /// Removes an unsettled message; returns nil if this delivery has already been settled, or the message
    /// has been delivered again since.
    mutating func takeUnsettled(_ number: UInt64, delivery: Int) -> Entry? {
        guard let found = giveBack(number, delivery) else { return nil }
        unsettled[number] = nil
        return found
    }

    /// Keeps an unsettled message, without room at its member, until ``takeDelayed(_:delivery:)``. Returns false
    /// where ``takeUnsettled(_:delivery:)`` returns nil.
    mutating func delay(_ number: UInt64, delivery: Int) -> Bool {
        guard giveBack(number, delivery) != nil else { return false }
        unsettled[number]?.isDelayed = true
        return true
    }

    /// Removes a delayed message; returns nil if its connection has ended since.
    mutating func takeDelayed(_ number: UInt64, delivery: Int) -> Entry? {
        guard let found = unsettled[number], found.isDelayed, found.entry.deliveries == delivery else { return nil }
        unsettled[number] = nil
        return found.entry
    }

    /// Gives back the room of a message that is with a listener.
    private mutating func giveBack(_ number: UInt64, _ delivery: Int) -> Entry? {
        guard let found = unsettled[number], !found.isDelayed, found.entry.deliveries == delivery else { return nil }
        if let index = members.firstIndex(where: { $0.connection == found.connection }) {
            members[index].room.giveBack(bytes: found.entry.message.byteCount)
        }
        return found.entry
    }

    /// The next message to deliver, and its receiver; nil if no message is waiting, or no connected member
    /// has room for it.
    mutating func next() -> (entry: Entry, member: Member)? {
        guard var entry = waiting.first, let index = memberInTurn(for: entry.message) else { return nil }
        turn = index
        members[index].room.take(bytes: entry.message.byteCount)
        _ = waiting.popFirst()
        entry.deliveries += 1
        unsettled[entry.number] = Delivered(entry: entry, connection: members[index].connection)
        return (entry, members[index])
    }

    private func memberInTurn(for message: TransportMessage) -> Int? {
        let indices = members.indices.lazy.map { (turn + 1 + $0) % members.count }
        return indices.first { members[$0].room.has(roomFor: message.byteCount) }
    }
}
