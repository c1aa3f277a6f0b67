#if SQLite
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// The last value of each subject, with the number of times that it was stored.
enum SQLiteValues {
    static func find(_ subject: String, _ db: Database) throws -> StoredValue? {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT subject, revision, headers, body FROM channels_values WHERE subject = ?",
            arguments: [subject]
        )
        return row.map { row in
            let revision: Int64 = row["revision"]
            return StoredValue(TransportMessage(row), revision: UInt64(revision))
        }
    }

    /// Stores a value. Returns its revision; nil if there is one that is to stay.
    static func store(_ message: TransportMessage, ifNone: Bool, _ db: Database) throws -> UInt64? {
        let conflict =
            ifNone
            ? "DO NOTHING"
            : "DO UPDATE SET revision = revision + 1, headers = excluded.headers, body = excluded.body"
        let revision = try Int64.fetchOne(
            db,
            sql: """
                INSERT INTO channels_values (subject, revision, headers, body) VALUES (?, 1, ?, ?)
                ON CONFLICT (subject) \(conflict) RETURNING revision
                """,
            arguments: [message.subject, message.headers.text, Data(message.body)]
        )
        return revision.map { UInt64($0) }
    }
}

/// What is removed of what the file holds.
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
        try db.execute(
            sql: "DELETE FROM channels_claims WHERE number NOT IN (SELECT number FROM channels_messages)"
        )
        var end =
            try Int64.fetchOne(
                db,
                sql: "SELECT MAX(number) FROM channels_messages WHERE durable AND time < ?",
                arguments: [now - retention.age / .seconds(1)]
            ) ?? 0
        let byCount = try Int64.fetchOne(
            db,
            sql: "SELECT number FROM channels_messages WHERE durable ORDER BY number DESC LIMIT 1 OFFSET ?",
            arguments: [retention.messages]
        )
        end = max(end, byCount ?? 0, try lastBeyond(retention.bytes, db))
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
        let lost = try Int.fetchOne(
            db,
            sql: """
                SELECT COUNT(*) FROM channels_messages WHERE durable AND number <= :end AND (
                    number IN (SELECT number FROM channels_unsettled)
                    OR number > (SELECT MIN(position) FROM channels_consumers)
                )
                """,
            arguments: ["end": end]
        )
        try db.execute(sql: "DELETE FROM channels_messages WHERE durable AND number <= ?", arguments: [end])
        try db.execute(sql: "DELETE FROM channels_unsettled WHERE number <= ?", arguments: [end])
        return lost ?? 0
    }

    /// The number of the newest message that is beyond a number of bytes, counted from the newest.
    private static func lastBeyond(_ bytes: Int, _ db: Database) throws -> Int64 {
        let total = try Int.fetchOne(
            db,
            sql: "SELECT SUM(LENGTH(body) + LENGTH(headers)) FROM channels_messages WHERE durable"
        )
        var surplus = (total ?? 0) - bytes
        guard surplus > 0 else { return 0 }
        let oldest = try Row.fetchCursor(
            db,
            sql: "SELECT number, LENGTH(body) + LENGTH(headers) FROM channels_messages WHERE durable ORDER BY number"
        )
        var last: Int64 = 0
        while surplus > 0, let row = try oldest.next() {
            last = row[0]
            surplus -= row[1]
        }
        return last
    }
}
#endif
