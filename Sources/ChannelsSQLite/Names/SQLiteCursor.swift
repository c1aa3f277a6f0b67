#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A subscription under a durable name, independent of the file that it reads. It is a class, because a transaction
/// copies all cursors.
final class SQLiteDurableName: Sendable {
    let name: ExactText
    let subscription: TransportSubscription
    let queue: HandlerQueue<InboundMessage>

    init(_ name: String, _ subscription: TransportSubscription, _ queue: HandlerQueue<InboundMessage>) {
        (self.name, self.subscription, self.queue) = (ExactText(name), subscription, queue)
    }

    var pattern: ChannelPattern { subscription.pattern }

    /// Finds the name in the file, or enters it, and records that this member uses it.
    func join(_ member: String, _ db: Database) throws -> SQLiteCursor {
        let position = try SQLiteSchema.position(of: subscription.start, db)
        try db.execute(
            sql: "INSERT INTO channels_consumers (name, pattern, position) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            arguments: [name.text, pattern.text, position]
        )
        let row = try Row.fetchOne(
            db,
            sql: "SELECT id, position FROM channels_consumers WHERE name = ? AND pattern = ?",
            arguments: [name.text, pattern.text]
        )!  // it was entered
        try db.execute(
            sql: "INSERT OR IGNORE INTO channels_subscribers (consumer, member) VALUES (?, ?)",
            arguments: [row[0] as Int64, member]
        )
        return SQLiteCursor(name: self, id: row[0], position: row[1])
    }
}

/// How far this connection has read a durable name in the file, and how much of it this connection holds.
struct SQLiteCursor {
    let name: SQLiteDurableName
    /// The number of the name in the file.
    private(set) var id: Int64
    /// The position in the file when it was last read.
    private(set) var position: Int64
    /// Messages up to here that this connection has not claimed are not for it.
    var passed: Int64
    /// The room for messages that were claimed and are not settled.
    private(set) var room: Room
    /// Whether there may be more messages to claim.
    var mayHaveMore = true

    init(name: SQLiteDurableName, id: Int64, position: Int64) {
        (self.name, self.id, self.position, passed) = (name, id, position, position)
        room = Room(messages: name.subscription.prefetchLimit, bytes: name.subscription.prefetchByteLimit)
    }

    /// The size of the next message, if there was no room for it.
    private var nextBytes = 1

    /// Whether it can claim the next message. If it holds none, the size does not matter.
    var hasRoom: Bool { room.has(roomFor: nextBytes) }

    /// Takes room for a message, or remembers its size if there is no room.
    mutating func claims(bytes: Int) -> Bool {
        guard room.has(roomFor: bytes) else {
            (mayHaveMore, nextBytes) = (true, bytes)
            return false
        }
        room.take(bytes: bytes)
        nextBytes = 1
        return true
    }

    /// Whether it has passed messages without claiming any, which the file does not know.
    var isAhead: Bool { passed > position }

    /// Called when the name was removed from the file and entered again. Messages still held belong to the
    /// former entry.
    mutating func enter(_ new: SQLiteCursor) {
        (id, position, passed, mayHaveMore, nextBytes) = (new.id, new.position, new.passed, true, 1)
    }

    /// Finds or enters the name in another session, and may hold as many messages as in this one.
    func joinAgain(_ member: String, _ db: Database) throws -> SQLiteCursor {
        var new = try name.join(member, db)
        new.room.limit = room.limit
        return new
    }

    /// Changes how many messages it may hold. Others with the same name take the rest.
    mutating func limit(to limit: Int) { room.limit = limit }

    mutating func release(bytes: Int) { room.giveBack(bytes: bytes) }

    /// Records a message after the position, which may be one to claim.
    mutating func pass(_ number: Int64, isDurable: Bool, _ subject: String) {
        guard !mayHaveMore, passed < number else { return }
        if isDurable, name.pattern.matches(subject) { mayHaveMore = true } else { passed = number }
    }

    /// Writes how far the name has come.
    mutating func save(_ db: Database) throws {
        let move = try db.cachedStatement(
            sql: "UPDATE channels_consumers SET position = ? WHERE id = ? AND position < ?"
        )
        try move.execute(arguments: [passed, id, passed])
        position = passed
    }
}
#endif
