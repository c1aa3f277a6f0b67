#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// What a connection takes of a durable name's messages, in one transaction: first what may be delivered again, then
/// what is new, each in the order in which it was stored.
struct SQLiteTaking: Sendable {
    struct Taken: Sendable {
        let number: Int64
        let delivery: Int
        let message: TransportMessage
        let time: Double
    }

    /// Of the name, in the file.
    let id: Int64
    let pattern: ChannelPattern
    /// How many messages, and how many bytes; but one message at least.
    let most: Int
    let bytes: Int
    let holder: String
    /// For how many seconds nobody else may have what is taken.
    let lease: Double
    /// As long as others have a message up to this number, it takes none behind that; nil if it is not to wait. So a
    /// process that is started again hears what its predecessors had not settled before what came later.
    let waitsFor: Int64?

    /// - Returns: What was taken, and when something that others have may be delivered here.
    func take(_ db: Database) throws -> (taken: [Taken], due: Double?) {
        // Only here: what waits for the lock of the file might be late already.
        let leaseEnd = Timestamp.now.secondsSince1970 + lease
        var taken: [Taken] = []
        var left = bytes
        var isFull = false
        /// False where there is no room for the message.
        func add(_ row: Row, _ delivery: Int) throws -> Bool {
            let message = TransportMessage(row)
            isFull = taken.count == most || !taken.isEmpty && message.byteCount > left
            guard !isFull else { return false }
            left -= message.byteCount
            taken.append(Taken(number: row["number"], delivery: delivery, message: message, time: row["time"]))
            return true
        }
        let wall = try firstThatOthersHold(db)
        try takeAgain(db, before: wall, add)
        for item in taken {
            try db.execute(
                sql:
                    "UPDATE channels_unsettled SET deliveries = ?, due = ?, holder = ? WHERE consumer = ? AND number = ?",
                arguments: [item.delivery, leaseEnd, holder, id, item.number]
            )
        }
        if !isFull, wall == nil {
            let before = taken.count
            try takeNew(db, add)
            let enter = try db.cachedStatement(
                sql:
                    "INSERT INTO channels_unsettled (consumer, number, deliveries, due, holder) VALUES (?, ?, 1, ?, ?)"
            )
            for item in taken[before...] { try enter.execute(arguments: [id, item.number, leaseEnd, holder]) }
        }
        let due = try Double.fetchOne(
            db,
            sql: "SELECT MIN(due) FROM channels_unsettled WHERE consumer = ? AND holder IS NOT ?",
            arguments: [id, holder]
        )
        return (taken, due)
    }

    /// Of what it waits for: the first message that others have, and that may not be delivered again yet.
    private func firstThatOthersHold(_ db: Database) throws -> Int64? {
        guard let waitsFor else { return nil }
        return try Int64.fetchOne(
            db,
            sql: """
                SELECT MIN(number) FROM channels_unsettled
                WHERE consumer = ? AND number <= ? AND holder <> ? AND due > ?
                """,
            arguments: [id, waitsFor, holder, Timestamp.now.secondsSince1970]
        )
    }

    /// Never what this connection holds itself, however late it is with extending its lease; nor what is behind a
    /// message that it waits for. Two predecessors that were killed one after the other may both have left some.
    private func takeAgain(_ db: Database, before wall: Int64?, _ add: (Row, Int) throws -> Bool) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, subject, headers, body, time, deliveries
                FROM channels_unsettled JOIN channels_messages USING (number)
                WHERE consumer = ? AND due <= ? AND holder IS NOT ? AND number < ? ORDER BY number
                """,
            arguments: [id, Timestamp.now.secondsSince1970, holder, wall ?? .max]
        )
        while let row = try rows.next(), try add(row, row["deliveries"] + 1) {}
    }

    /// Moves the position behind what was taken, and what the pattern does not match.
    private func takeNew(_ db: Database, _ add: (Row, Int) throws -> Bool) throws {
        let position = try Int64.fetchOne(
            db,
            sql: "SELECT position FROM channels_consumers WHERE id = ?",
            arguments: [id]
        )
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, subject, headers, body, time FROM channels_messages
                WHERE number > ? AND durable ORDER BY number
                """,
            arguments: [position ?? 0]
        )
        var reached = position
        while let row = try rows.next() {
            if pattern.matches(row["subject"]), try !add(row, 1) { break }
            reached = row["number"]
        }
        guard reached != position else { return }
        try db.execute(sql: "UPDATE channels_consumers SET position = ? WHERE id = ?", arguments: [reached, id])
    }
}
#endif
