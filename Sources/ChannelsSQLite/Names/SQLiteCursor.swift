#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A subscription under a durable name, whatever file it reads.
struct SQLiteDurableName {
    let name: ExactText
    let subscription: TransportSubscription
    let queue: HandlerQueue<InboundMessage>
    /// How many messages it holds at most: others of the name have their share, too.
    let limit: Int

    var pattern: ChannelPattern { subscription.pattern }

    /// Finds the name in the file, or enters it, and says that this member uses it.
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

/// Where a durable name is in the file, as far as this connection has read, and what of it this connection holds.
struct SQLiteCursor {
    let name: SQLiteDurableName
    /// In the file.
    private(set) var id: Int64
    /// The position in the file when it was last read.
    private(set) var position: Int64
    /// Messages up to here that were not claimed are for others.
    var passed: Int64
    /// For messages that were claimed and are not settled.
    private(set) var room: Room
    /// Whether there may be more than was claimed.
    var mayHaveMore = true

    init(name: SQLiteDurableName, id: Int64, position: Int64) {
        (self.name, self.id, self.position, passed) = (name, id, position, position)
        room = Room(messages: name.limit, bytes: name.subscription.prefetchByteLimit)
    }

    /// The bytes of the next message, if there was no room for them.
    private var nextBytes = 1

    /// Whether it can claim the next message, of whatever size if it holds none.
    var hasRoom: Bool { room.has(roomFor: nextBytes) }

    /// Has a message of so many bytes from now on, or waits until there is room for it.
    mutating func claims(bytes: Int) -> Bool {
        guard room.has(roomFor: bytes) else {
            (mayHaveMore, nextBytes) = (true, bytes)
            return false
        }
        room.take(bytes: bytes)
        nextBytes = 1
        return true
    }

    /// Whether it passed messages without claiming one, so that the file does not know.
    var isAhead: Bool { passed > position }

    /// The name was removed from the file, and entered again. What is held was of the former one.
    mutating func enter(_ new: SQLiteCursor) {
        (id, position, passed, mayHaveMore, nextBytes) = (new.id, new.position, new.passed, true, 1)
    }

    mutating func release(bytes: Int) { room.giveBack(bytes: bytes) }

    /// Notes a message behind the position: whether there is something to claim.
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
