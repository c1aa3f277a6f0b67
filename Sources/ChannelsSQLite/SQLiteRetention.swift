#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// What is removed of what the file holds. It reads little where there is nothing to remove: every connection asks.
enum SQLiteRetention {
    /// Messages that are not durable are kept for those who look late.
    private static let plainAge = 60.0

    /// Removes what is beyond the limits.
    ///
    /// - Returns: How many messages were removed that a durable name had not settled.
    static func prune(_ db: Database, _ retention: SQLiteConfiguration.Retention) throws -> Int {
        let now = Timestamp.now.secondsSince1970
        try db.execute(
            sql: "DELETE FROM channels_messages WHERE NOT durable AND time < ?",
            arguments: [now - plainAge]
        )
        try db.execute(sql: "DELETE FROM channels_members WHERE due < ?", arguments: [now])
        try db.execute(sql: "DELETE FROM channels_claims WHERE number NOT IN (SELECT number FROM channels_messages)")
        try passOverForeignMessages(db)
        var end = max(
            try lastOlder(than: now - retention.age / .seconds(1), db),
            try lastBeyond(count: retention.messages, db),
            try lastBeyond(bytes: retention.bytes, db)
        )
        let needed = try Int64.fetchOne(
            db,
            sql: """
                SELECT MIN(number) FROM (
                    SELECT MIN(number) AS number FROM channels_unsettled
                    UNION ALL SELECT MIN(position) + 1 FROM channels_consumers
                )
                """
        )
        if retention.keepsUnsettled, let needed { end = min(end, needed - 1) }
        guard end > 0 else { return 0 }
        let lost = try needed.map { try countUnsettled(from: $0, to: end, db) } ?? 0
        try db.execute(sql: "DELETE FROM channels_messages WHERE durable AND number <= ?", arguments: [end])
        try db.execute(sql: "DELETE FROM channels_unsettled WHERE number <= ?", arguments: [end])
        return lost
    }

    /// Removes durable names that no process has used for a time: each would keep all that follows for ever.
    ///
    /// - Parameter used: Those that this connection uses.
    /// - Returns: Their names.
    static func removeNames(unusedFor age: Duration, but used: [Int64], _ db: Database) throws -> [String] {
        let now = Timestamp.now.secondsSince1970
        for id in used {
            try db.execute(sql: "UPDATE channels_consumers SET seen = ? WHERE id = ?", arguments: [now, id])
        }
        let unused = try Row.fetchAll(
            db,
            sql: "SELECT id, name FROM channels_consumers WHERE seen < ?",
            arguments: [now - age / .seconds(1)]
        )
        for row in unused {
            let id: Int64 = row["id"]
            try db.execute(sql: "DELETE FROM channels_consumers WHERE id = ?", arguments: [id])
            try db.execute(sql: "DELETE FROM channels_unsettled WHERE consumer = ?", arguments: [id])
        }
        return unused.map { $0["name"] }
    }

    private static func countUnsettled(from first: Int64, to last: Int64, _ db: Database) throws -> Int {
        guard first <= last else { return 0 }
        let names = try Row.fetchAll(db, sql: "SELECT pattern, position FROM channels_consumers")
            .map { (try ChannelPattern(validating: $0["pattern"]), $0["position"] as Int64) }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, subject, number IN (SELECT number FROM channels_unsettled) AS taken
                FROM channels_messages WHERE durable AND number BETWEEN ? AND ?
                """,
            arguments: [first, last]
        )
        var count = 0
        while let row = try rows.next() {
            let (number, subject) = (row["number"] as Int64, row["subject"] as String)
            if row["taken"] || names.contains(where: { $1 < number && $0.matches(subject) }) { count += 1 }
        }
        return count
    }

    /// A name whose pattern nothing matches needs nothing of what is stored.
    private static func passOverForeignMessages(_ db: Database) throws {
        for consumer in try Row.fetchAll(db, sql: "SELECT id, pattern, position FROM channels_consumers") {
            let pattern = try ChannelPattern(validating: consumer["pattern"])
            let position: Int64 = consumer["position"]
            var reached = position
            let rows = try oldest("subject", after: position, db)
            while let row = try rows.next(), !pattern.matches(row["subject"]) { reached = row["number"] }
            guard reached != position else { continue }
            try db.execute(
                sql: "UPDATE channels_consumers SET position = ? WHERE id = ?",
                arguments: [reached, consumer["id"] as Int64]
            )
        }
    }

    private static func oldest(_ column: String, after number: Int64 = 0, _ db: Database) throws -> RowCursor {
        try Row.fetchCursor(
            db,
            sql: "SELECT number, \(column) FROM channels_messages WHERE durable AND number > ? ORDER BY number",
            arguments: [number]
        )
    }

    private static func lastOlder(than time: Double, _ db: Database) throws -> Int64 {
        let rows = try oldest("time", db)
        var last: Int64 = 0
        while let row = try rows.next(), row["time"] < time { last = row["number"] }
        return last
    }

    /// Counted only where the numbers allow for so many.
    private static func lastBeyond(count: Int, _ db: Database) throws -> Int64 {
        let first = try Int64.fetchOne(db, sql: "SELECT number FROM channels_messages WHERE durable ORDER BY number")
        guard let first, try SQLiteSchema.lastNumber(db) - first >= count else { return 0 }
        return try Int64.fetchOne(
            db,
            sql: "SELECT number FROM channels_messages WHERE durable ORDER BY number DESC LIMIT 1 OFFSET ?",
            arguments: [count]
        ) ?? 0
    }

    /// Added up only where the file is large enough.
    private static func lastBeyond(bytes: Int, _ db: Database) throws -> Int64 {
        let size = try Int.fetchOne(
            db,
            sql: """
                SELECT (page_count - freelist_count) * page_size
                FROM pragma_page_count, pragma_freelist_count, pragma_page_size
                """
        )
        guard size ?? 0 > bytes else { return 0 }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, LENGTH(body) + LENGTH(headers) AS bytes FROM channels_messages
                WHERE durable ORDER BY number DESC
                """
        )
        var left = bytes
        while let row = try rows.next() {
            left -= row["bytes"]
            if left < 0 { return row["number"] }
        }
        return 0
    }
}
#endif
