#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// What is to be done to remove messages beyond the limits, each half minute: (1) they are looked for, without a lock,
/// in parts; (2) they are removed in portions, between which others write; (3) the write-ahead log is made short.
///
/// Nothing is written if there is nothing to remove. A value, without a clock of its own.
struct SQLiteRetention {
    typealias Instant = ContinuousClock.Instant

    enum Step {
        case search(Search)
        case remove(Removal)
        case shortenLog
    }

    /// How long a part may take, and the pause for others, who try the lock every 2 ms.
    private static let (mostTime, pause) = (Duration.milliseconds(50), Duration.milliseconds(5))
    /// The first time, and from one to the next.
    private static let (first, interval) = (Duration.seconds(10), Duration.seconds(30))
    /// Messages that are not durable are kept for those who look late.
    private static let plainAge = 60.0

    private let limits: SQLiteConfiguration.Retention
    private var step: Step
    /// When the next step is due; far away while a portion is being removed.
    private(set) var due: Instant

    init(_ configuration: SQLiteConfiguration, _ now: Instant) {
        limits = configuration.retention
        step = .search(Search(limits: limits))
        due = configuration.isObserver ? now + .seconds(1_000_000_000) : now + Self.first
    }

    /// The step that is due.
    mutating func next(_ now: Instant) -> Step? {
        guard due <= now else { return nil }
        if case .remove = step { due = now + .seconds(1_000_000_000) }
        return step
    }

    /// - Parameter found: What is to be done next.
    mutating func searched(_ found: Step, _ now: Instant) { (step, due) = (found, now) }

    mutating func removed(isDone: Bool, _ now: Instant) {
        if isDone { step = .shortenLog }
        due = now + Self.pause
    }

    /// Begins again after the interval, also in another file.
    mutating func begin(_ now: Instant) { (step, due) = (.search(Search(limits: limits)), now + Self.interval) }

    // MARK: Looking for them

    /// From the newest message back, as far as that is needed: how many there are, and how many bytes they have.
    struct Search {
        private static let mostAtOnce = 2_000

        let limits: SQLiteConfiguration.Retention
        private var before = Int64.max
        private var (messages, bytes) = (0, 0)

        init(limits: SQLiteConfiguration.Retention) { self.limits = limits }

        /// - Parameter passed: Names of this connection, and up to where they need nothing.
        func step(_ db: Database, _ passed: [Int64: Int64], _ time: Double) throws -> Step {
            guard try before < .max || mayBeBeyond(db) else { return try ending(0, db, passed, time) }
            var search = self
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT number, LENGTH(body) + LENGTH(headers) FROM channels_messages
                        WHERE durable AND number < ? ORDER BY number DESC LIMIT \(Self.mostAtOnce)
                        """
                ),
                arguments: [before]
            )
            while let row = try rows.next() {
                search.before = row[0]
                search.messages += 1
                search.bytes += row[1]
                if search.messages > limits.messageLimit || search.bytes > limits.byteLimit {
                    return try ending(search.before, db, passed, time)
                }
            }
            return search.before == before ? try ending(0, db, passed, time) : .search(search)
        }

        /// Counts only if the numbers, or the size of the file, allow for that much.
        private func mayBeBeyond(_ db: Database) throws -> Bool {
            let first = try Int64.fetchOne(
                db,
                sql: "SELECT number FROM channels_messages WHERE durable ORDER BY number"
            )
            guard let first else { return false }
            if try SQLiteSchema.lastNumber(db) - first >= limits.messageLimit { return true }
            let size = try Int.fetchOne(
                db,
                sql: """
                    SELECT (page_count - freelist_count) * page_size
                    FROM pragma_page_count, pragma_freelist_count, pragma_page_size
                    """
            )
            return size ?? 0 > limits.byteLimit
        }

        private func ending(_ last: Int64, _ db: Database, _ passed: [Int64: Int64], _ time: Double) throws -> Step {
            let removal = Removal(last: last, ageLimit: limits.ageLimit / .seconds(1))
            return try removal.isDone(db, passed, time) ? .shortenLog : .remove(removal)
        }
    }

    // MARK: Removing them

    /// Removes messages up to a number or beyond an age, but none that a durable name needs.
    struct Removal {
        /// How many messages are removed between two looks at the clock.
        private static let mostAtOnce = 100

        fileprivate let last: Int64
        fileprivate let ageLimit: Double

        /// - Returns: Whether nothing is left to be removed.
        func step(_ db: Database, _ passed: [Int64: Int64], _ time: Double) throws -> Bool {
            for (id, position) in passed {
                try db.execute(
                    sql: "UPDATE channels_consumers SET position = ? WHERE id = ? AND position < ?",
                    arguments: [position, id, position]
                )
            }
            let end = ContinuousClock.now + mostTime
            while .now < end {
                if try !removePlain(db, time), try !removeDurable(db, time) { return true }
            }
            return false
        }

        /// Whether there is nothing to remove, and no position to write that keeps what is beyond the limits.
        fileprivate func isDone(_ db: Database, _ passed: [Int64: Int64], _ time: Double) throws -> Bool {
            let hasPlain = try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM channels_messages WHERE NOT durable AND time < ?)",
                arguments: [time - plainAge]
            )
            guard hasPlain != true else { return false }
            guard try oldest(db, .max, time) != nil else { return true }
            // Also where a name of another process keeps it as well: that one may wait for this one.
            let isAhead = try positions(db).contains { name in passed[name.id].map { $0 > name.position } ?? false }
            return try !isAhead && oldest(db, firstNeeded(db), time) == nil
        }

        private func positions(_ db: Database) throws -> [(id: Int64, position: Int64)] {
            try Row.fetchAll(db.cachedStatement(sql: "SELECT id, position FROM channels_consumers"))
                .map { (id: $0[0], position: $0[1]) }
        }

        private func removePlain(_ db: Database, _ time: Double) throws -> Bool {
            try db.cachedStatement(
                sql: """
                    DELETE FROM channels_messages WHERE number IN
                        (SELECT number FROM channels_messages WHERE NOT durable AND time < ? LIMIT \(Self.mostAtOnce))
                    """
            )
            .execute(arguments: [time - plainAge])
            return db.changesCount > 0
        }

        private func removeDurable(_ db: Database, _ time: Double) throws -> Bool {
            guard let last = try oldest(db, firstNeeded(db), time) else { return false }
            try db.cachedStatement(sql: "DELETE FROM channels_messages WHERE durable AND number <= ?")
                .execute(arguments: [last])
            return true
        }

        /// The last of the oldest messages that are beyond the limits, and that no name needs.
        private func oldest(_ db: Database, _ needed: Int64, _ time: Double) throws -> Int64? {
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT number, time FROM channels_messages WHERE durable AND number < ?
                        ORDER BY number LIMIT \(Self.mostAtOnce)
                        """
                ),
                arguments: [needed]
            )
            var found: Int64?
            while let row = try rows.next(), row[0] <= last || row[1] < time - ageLimit { found = row[0] }
            return found
        }

        /// The first message that a durable name has not settled.
        private func firstNeeded(_ db: Database) throws -> Int64 {
            let position = try positions(db).map(\.position).min()
            let unsettled = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT MIN(number) FROM channels_unsettled")
            )
            return min(position.map { $0 + 1 } ?? .max, unsettled ?? .max)
        }
    }
}
#endif
