#if SQLite
internal import ChannelsBridge
internal import GRDB

/// When messages beyond the limits are removed: every half minute, in portions, between which others can
/// write. A value, without a clock of its own.
struct SQLiteRetention {
    typealias Instant = ContinuousClock.Instant

    /// The pause between two portions lets others write. They try to lock the file at least every 10 ms.
    private static let (first, interval, pause) = (
        Duration.seconds(10), Duration.seconds(30), Duration.milliseconds(12)
    )

    /// When the next portion is due; nil while one is being removed.
    private(set) var due: Instant?

    init(_ now: Instant) { due = now + Self.first }

    /// Returns whether to remove a portion now. The next one is due after this one has been removed.
    mutating func begins(_ now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        return true
    }

    mutating func removed(isDone: Bool, _ now: Instant) { due = now + (isDone ? Self.interval : Self.pause) }
}

/// Removes the messages that are beyond the limits and that no durable name needs. Dead letters are removed like
/// all others: the durable name under which they are put back needs none.
struct SQLiteRemoval {
    /// How long a portion may take.
    private static let mostTime = Duration.milliseconds(50)
    /// How many messages are removed before the clock is read again.
    private static let mostAtOnce = 100
    /// How many seconds messages that are not durable are kept, for subscribers that look late.
    private static let plainAge = 60.0

    let limits: SQLiteConfiguration.Retention
    /// Up to where the durable names of this connection need no messages. The file may not know that yet.
    let passed: [Int64: Int64]
    /// The wall clock.
    let time: Double

    /// Removes a portion. If there is nothing to remove, and no position has changed, it writes nothing.
    ///
    /// - Returns: Whether nothing is left to remove.
    func remove(_ db: Database) throws -> Bool {
        try savePositions(db)
        let end = ContinuousClock.now + Self.mostTime
        repeat {
            if try !removePlain(db), try !removeDurable(db) { return true }
        } while .now < end
        return false
    }

    /// Positions are saved even if nothing is to be removed here, because other processes, whose limits may be
    /// lower, may be waiting for them.
    private func savePositions(_ db: Database) throws {
        for (id, position) in passed {
            try db.execute(
                sql: "UPDATE channels_consumers SET position = ? WHERE id = ? AND position < ?",
                arguments: [position, id, position]
            )
        }
    }

    private func removePlain(_ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: """
                DELETE FROM channels_messages WHERE number IN
                    (SELECT number FROM channels_messages WHERE NOT durable AND time < ? LIMIT \(Self.mostAtOnce))
                """
        )
        .execute(arguments: [time - Self.plainAge])
        return db.changesCount > 0
    }

    private func removeDurable(_ db: Database) throws -> Bool {
        guard let last = try lastBeyond(before: firstNeeded(db), db) else { return false }
        try db.cachedStatement(sql: "DELETE FROM channels_messages WHERE durable AND number <= ?")
            .execute(arguments: [last])
        return true
    }

    /// The first message that a durable name has not settled.
    private func firstNeeded(_ db: Database) throws -> Int64 {
        let first = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT MIN(IFNULL((SELECT MIN(number) FROM channels_unsettled WHERE consumer = id), position + 1))
                    FROM channels_consumers
                    """
            )
        )
        return first ?? .max
    }

    /// The last of the oldest messages beyond the limits.
    private func lastBeyond(before needed: Int64, _ db: Database) throws -> Int64? {
        var (count, bytes) = try SQLiteSchema.totals(db)
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT number, time, LENGTH(headers) + LENGTH(body) FROM channels_messages
                    WHERE durable AND number < ? ORDER BY number LIMIT \(Self.mostAtOnce)
                    """
            ),
            arguments: [needed]
        )
        var last: Int64?
        while let row = try rows.next(),
            count > limits.messages || bytes > limits.bytes || row[1] < time - limits.age / .seconds(1)
        {
            last = row[0]
            (count, bytes) = (count - 1, bytes - (row[2] as Int))
        }
        return last
    }
}
#endif
