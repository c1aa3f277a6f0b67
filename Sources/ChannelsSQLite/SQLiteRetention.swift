#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// Removes messages beyond the limits. Finding them does not block writers; they are removed in portions,
/// between which others write. Nothing is written if there is nothing to remove.
enum SQLiteRetention {
    typealias Retention = SQLiteConfiguration.Retention

    /// Messages that are not durable are kept for those who look late.
    private static let plainAge = 60.0
    /// How long a portion may take, and the pause for others, who try the lock every 2 ms.
    private static let (mostTime, pause) = (Duration.milliseconds(50), Duration.milliseconds(5))
    /// How many messages are removed between two looks at the clock.
    private static let step = 100

    /// Removes messages beyond the limits.
    ///
    /// - Parameter passed: Names of this connection, and up to where they need nothing.
    /// - Returns: How many messages were removed that a durable name had not settled.
    static func prune(_ file: SQLiteFile, _ retention: Retention, passed: [(id: Int64, passed: Int64)]) async throws
        -> Int
    {
        let passed = Dictionary(passed.map { ($0.id, $0.passed) }) { max($0, $1) }
        let moves = try await file.read { try Self.moves(passed, $0) }
        if !moves.isEmpty {
            try await file.take { db in
                for (id, position) in moves {
                    try db.execute(
                        sql: "UPDATE channels_consumers SET position = ? WHERE id = ? AND position < ?",
                        arguments: [position, id, position]
                    )
                }
            }
        }
        let (hasPlain, end) = try await file.read { (try Self.hasPlain($0), try lastBeyond(retention, $0)) }
        if hasPlain { try await inPortions(file) { try removePlain($0) } }
        return end > 0 ? try await inPortions(file) { try removeDurable(upTo: end, retention, $0) } : 0
    }

    /// Calls a body, which removes a step and returns how many messages were lost, until it returns nil.
    @discardableResult
    private static func inPortions(
        _ file: SQLiteFile,
        _ body: @escaping @Sendable (Database) throws -> Int?
    ) async throws -> Int {
        var lost = 0
        while true {
            let (count, isDone) = try await file.take { db in
                let start = ContinuousClock.now
                var count = 0
                while start.duration(to: .now) < mostTime {
                    guard let lost = try body(db) else { return (count, true) }
                    count += lost
                }
                return (count, false)
            }
            lost += count
            if isDone { return lost }
            try await Task.sleep(for: pause)
        }
    }

    // MARK: Not durable

    private static func hasPlain(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM channels_messages WHERE NOT durable AND time < ?)",
            arguments: [Timestamp.now.secondsSince1970 - plainAge]
        ) ?? false
    }

    private static func removePlain(_ db: Database) throws -> Int? {
        try db.cachedStatement(
            sql: """
                DELETE FROM channels_messages WHERE number IN
                    (SELECT number FROM channels_messages WHERE NOT durable AND time < ? LIMIT \(step))
                """
        )
        .execute(arguments: [Timestamp.now.secondsSince1970 - plainAge])
        if db.changesCount > 0 { return 0 }
        try db.execute(sql: "DELETE FROM channels_claims WHERE number NOT IN (SELECT number FROM channels_messages)")
        return nil
    }

    // MARK: Durable

    /// The last message beyond the limits that may be removed.
    private static func lastBeyond(_ retention: Retention, _ db: Database) throws -> Int64 {
        let end = retention.keepsUnsettled ? try firstNeeded(db).map { $0 - 1 } ?? .max : .max
        return min(
            end,
            max(
                try lastOlder(than: Timestamp.now.secondsSince1970 - retention.ageLimit / .seconds(1), upTo: end, db),
                try lastBeyond(count: retention.messageLimit, db),
                try lastBeyond(bytes: retention.byteLimit, db)
            )
        )
    }

    /// The first message that a durable name has not settled.
    private static func firstNeeded(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT MIN(number) FROM (
                        SELECT MIN(number) AS number FROM channels_unsettled
                        UNION ALL SELECT MIN(position) + 1 FROM channels_consumers
                    )
                    """
            )
        )
    }

    /// Removes the oldest messages. Returns how many were lost; nil if there are none to remove.
    private static func removeDurable(upTo end: Int64, _ retention: Retention, _ db: Database) throws -> Int? {
        let needed = try firstNeeded(db)
        let end = retention.keepsUnsettled ? min(end, needed.map { $0 - 1 } ?? end) : end
        let oldest = try db.cachedStatement(
            sql: """
                SELECT MAX(number) FROM
                    (SELECT number FROM channels_messages WHERE durable AND number <= ? ORDER BY number LIMIT \(step))
                """
        )
        guard let last = try Int64.fetchOne(oldest, arguments: [end]) else { return nil }
        let lost = try needed.map { try countUnsettled(from: $0, to: last, db) } ?? 0
        try db.execute(sql: "DELETE FROM channels_messages WHERE durable AND number <= ?", arguments: [last])
        if lost > 0 { try db.execute(sql: "DELETE FROM channels_unsettled WHERE number <= ?", arguments: [last]) }
        return lost
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

    /// How far each name could be moved whose pattern matches none of the stored messages.
    private static func moves(_ passed: [Int64: Int64], _ db: Database) throws -> [(Int64, Int64)] {
        var moves: [(Int64, Int64)] = []
        for consumer in try Row.fetchAll(db, sql: "SELECT id, pattern, position FROM channels_consumers") {
            let (id, position) = (consumer["id"] as Int64, consumer["position"] as Int64)
            let pattern = try ChannelPattern(validating: consumer["pattern"])
            var reached = max(position, passed[id] ?? 0)
            let rows = try oldest("subject", after: reached, db)
            while let row = try rows.next(), !pattern.matches(row["subject"]) { reached = row["number"] }
            if reached != position { moves.append((id, reached)) }
        }
        return moves
    }

    private static func oldest(_ column: String, after number: Int64 = 0, _ db: Database) throws -> RowCursor {
        try Row.fetchCursor(
            db,
            sql: "SELECT number, \(column) FROM channels_messages WHERE durable AND number > ? ORDER BY number",
            arguments: [number]
        )
    }

    private static func lastOlder(than time: Double, upTo end: Int64, _ db: Database) throws -> Int64 {
        let rows = try oldest("time", db)
        var last: Int64 = 0
        while last < end, let row = try rows.next(), row["time"] < time { last = row["number"] }
        return last
    }

    /// Counts only if the numbers allow for that many.
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
