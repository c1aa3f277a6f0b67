#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A message of a durable name that this connection holds until it is settled or released.
struct SQLiteClaim {
    /// The place of the name among those of the connection.
    let place: Int
    let number: Int64
    let delivery: Int
    let message: TransportMessage
    let time: Double
}

/// Claims messages for the durable names of a connection in one transaction: for each name, first those that
/// no member holds any more, then new ones, in the order in which they were stored.
struct SQLiteClaiming {
    /// How many messages are read in one transaction, for which others have to wait.
    private static let mostAtOnce = 5_000

    /// The cursors as they will be once the transaction is committed.
    private(set) var cursors: [SQLiteCursor]
    private(set) var claims: [SQLiteClaim] = []
    /// The names that the file does not know.
    private(set) var missing: [Int] = []
    private let token: String

    init(_ cursors: [SQLiteCursor], token: String) { (self.cursors, self.token) = (cursors, token) }

    mutating func claim(_ db: Database) throws {
        var open = cursors.indices.filter { cursors[$0].hasRoom && cursors[$0].mayHaveMore }
        guard !open.isEmpty else { return }
        let find = try db.cachedStatement(sql: "SELECT position, name, pattern FROM channels_consumers WHERE id = ?")
        try open.removeAll { place in
            let cursor = cursors[place]
            cursors[place].mayHaveMore = false
            // Somebody may have removed the name, and in a file that was repaired by hand, another name may
            // have its number.
            guard let row = try Row.fetchOne(find, arguments: [cursor.id]), ExactText(row[1]) == cursor.name.name,
                ExactText(row[2]) == ExactText(cursor.name.pattern.text)
            else {
                missing.append(place)
                return true
            }
            cursors[place].passed = max(cursor.passed, row[0])
            return try !claimFree(place, db)
        }
        try claimNew(open, db)
    }

    /// Claims messages that another session has left. Returns whether there is room for more.
    private mutating func claimFree(_ place: Int, _ db: Database) throws -> Bool {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT number, subject, headers, body, time, deliveries
                    FROM channels_unsettled JOIN channels_messages USING (number)
                    WHERE consumer = ? AND holder IS NULL ORDER BY number
                    """
            ),
            arguments: [cursors[place].id]
        )
        let first = claims.count
        var hasRoom = true
        while hasRoom, let row = try rows.next() { hasRoom = add(row, row["deliveries"] + 1, to: place) }
        let hold = try db.cachedStatement(
            sql: "UPDATE channels_unsettled SET deliveries = ?, holder = ? WHERE consumer = ? AND number = ?"
        )
        for claim in claims[first...] {
            try hold.execute(arguments: [claim.delivery, token, cursors[place].id, claim.number])
        }
        return hasRoom
    }

    /// Reads each message once for all names that have room, and moves their positions past the messages that
    /// they claim.
    private mutating func claimNew(_ places: [Int], _ db: Database) throws {
        let first = claims.count
        var (open, left) = (places, Self.mostAtOnce)
        while left > 0, try readNew(&open, &left, db) {}
        let hold = try db.cachedStatement(
            sql: "INSERT INTO channels_unsettled (consumer, number, deliveries, holder) VALUES (?, ?, 1, ?)"
        )
        for claim in claims[first...] {
            try hold.execute(arguments: [cursors[claim.place].id, claim.number, token])
        }
        for place in Set(claims[first...].map(\.place)) { try cursors[place].save(db) }
        if left == 0 { for place in open { cursors[place].mayHaveMore = true } }
    }

    /// Reads from the first position of a name that has room, until a name has no more room. The others may
    /// be far ahead.
    ///
    /// - Returns: Whether a name ran out of room before the end.
    private mutating func readNew(_ open: inout [Int], _ left: inout Int, _ db: Database) throws -> Bool {
        guard let start = open.map({ cursors[$0].passed }).min() else { return false }
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT number, subject, headers, body, time FROM channels_messages
                    WHERE number > ? AND durable ORDER BY number LIMIT ?
                    """
            ),
            arguments: [start, left]
        )
        let count = open.count
        while open.count == count, let row = try rows.next() {
            left -= 1
            let (number, subject) = (row["number"] as Int64, row["subject"] as String)
            open.removeAll { place in
                guard cursors[place].passed < number else { return false }
                if cursors[place].name.pattern.matches(subject), !add(row, 1, to: place) { return true }
                cursors[place].passed = number
                return false
            }
        }
        return open.count < count
    }

    /// Claims a message for a name. Returns false if there is no room for it.
    private mutating func add(_ row: Row, _ delivery: Int, to place: Int) -> Bool {
        let message = TransportMessage(row)
        guard cursors[place].claims(bytes: message.byteCount) else { return false }
        claims.append(
            SQLiteClaim(place: place, number: row["number"], delivery: delivery, message: message, time: row["time"])
        )
        return true
    }
}
#endif
