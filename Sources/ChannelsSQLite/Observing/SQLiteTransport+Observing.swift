#if SQLite
public import Channels
public import ChannelsBridge
internal import GRDB

/// Reports what a file stores, for the channels tool and for metrics.
extension SQLiteTransport {
    /// The durable messages of a file.
    package struct Totals: Sendable {
        package let messages: Int
        package let bytes: Int
        /// When the newest message was stored.
        package let last: Timestamp?
    }

    /// Counts the durable messages.
    package func totals() async throws -> Totals {
        try await observe { db, _ in
            let (messages, bytes) = try SQLiteSchema.totals(db)
            let last = try Double.fetchOne(
                db,
                sql: "SELECT time FROM channels_messages WHERE durable ORDER BY number DESC LIMIT 1"
            )
            return Totals(messages: messages, bytes: bytes, last: last.map { Timestamp(secondsSince1970: $0) })
        }
    }

    /// Reads on a separate connection, so that a long read does not hold up others. The body also receives
    /// the location of the file.
    private func observe<Result: Sendable>(
        _ body: @escaping @Sendable (Database, _ path: String) throws -> Result
    ) async throws -> Result {
        let (location, path): (String, String) = try await mailbox().ask { connection, finish in
            guard let session = connection.session else {
                return finish(.failure(BridgeError(.notConnected, detail: connection.configuration.path)))
            }
            do {
                try session.check()
                finish(.success((session.location, session.path)))
            } catch { finish(.failure(error)) }
        }
        do {
            var settings = Configuration()
            settings.label = "swift-channels status"
            settings.readonly = true
            settings.busyMode = .timeout(1)
            let connection = try DatabaseQueue(path: location, configuration: settings)
            defer { try? connection.close() }
            return try await connection.read { try body($0, location) }
        } catch { throw BridgeError(error, path: path) }
    }

    /// The running connections that use a durable name.
    private static func subscribers(of name: Int64, _ path: String, _ db: Database) throws -> [SQLiteMember] {
        try String.fetchAll(db, sql: "SELECT member FROM channels_subscribers WHERE consumer = ?", arguments: [name])
            .map { SQLiteMember($0, beside: path) }.filter { !$0.hasEnded }
    }

    /// Removes the patterns of a durable name that no running process uses, with their unsettled messages.
    ///
    /// - Returns: The removed patterns.
    /// - Throws: ``BridgeError/Code/refused`` if there is no such name, or running processes use all of its patterns.
    package func forget(_ name: String) async throws -> [String] {
        try await mailbox().perform(.task) { db, session in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT id, pattern FROM channels_consumers WHERE name = ?",
                arguments: [name]
            )
            guard !rows.isEmpty else { throw BridgeError(.refused, detail: "there is no durable name \(quoted(name))") }
            let unused = try rows.filter { try Self.subscribers(of: $0["id"], session.location, db).isEmpty }
            guard !unused.isEmpty else {
                let detail = "a running process uses the durable name \(quoted(name)): end it first"
                throw BridgeError(.refused, detail: detail)
            }
            for row in unused {
                try db.execute(sql: "DELETE FROM channels_consumers WHERE id = ?", arguments: [row["id"] as Int64])
            }
            return unused.map { $0["pattern"] }
        }
    }
}

// MARK: Status

extension SQLiteTransport {
    /// Reports the backlog of the durable names, the dead letters, and the size of the file.
    ///
    /// - Complexity: O(*n*) in the number of waiting messages, for each durable name.
    public func storeStatus(deadLetters: String?) async throws -> [StoreStatus] {
        let (found, path): (StoreStatus, String) = try await observe { db, path in
            var status = StoreStatus(name: "messages")
            let rows = try Row.fetchAll(db, sql: "SELECT * FROM channels_consumers ORDER BY name, pattern")
            status.names = try rows.map { try Self.name($0, path, db) }
            status.deadLetters = try deadLetters.map { try Self.letterCount("\($0).>", db) }
            return (status, path)
        }
        var status = found
        let log = path + "-wal"
        (status.fileBytes, status.logBytes) = (FileIdentity.size(path), FileIdentity.size(log))
        status.commitAge = [path, log].compactMap { FileIdentity.modified($0) }.max().map { .since($0) }
        return [status]
    }

    private static func name(_ row: Row, _ path: String, _ db: Database) throws -> StoreStatus.DurableName {
        let pattern = try ChannelPattern(validating: row["pattern"])
        var name = StoreStatus.DurableName(name: row["name"], pattern: row["pattern"])
        let subjects = try Row.fetchCursor(
            db,
            sql: """
                SELECT subject, COUNT(*), MIN(number) FROM channels_messages WHERE durable AND number > ?
                GROUP BY subject
                """,
            arguments: [row["position"] as Int64]
        )
        var oldest: Int64?
        while let row = try subjects.next() {
            guard pattern.matches(row[0]) else { continue }
            name.waiting += row[1]
            oldest = min(oldest ?? .max, row[2])
        }
        let unsettled = try Row.fetchOne(
            db,
            sql: "SELECT COUNT(*), SUM(deliveries > 1), MIN(number) FROM channels_unsettled WHERE consumer = ?",
            arguments: [row["id"] as Int64]
        )!  // an aggregate always has a row
        (name.unsettled, name.redelivered) = (unsettled[0], unsettled[1] ?? 0)
        if let first = unsettled[2] as Int64? { oldest = min(oldest ?? .max, first) }
        let time = try oldest.flatMap {
            try Double.fetchOne(db, sql: "SELECT time FROM channels_messages WHERE number = ?", arguments: [$0])
        }
        name.oldestAge = time.map { .since($0) }
        let holders = try subscribers(of: row["id"], path, db).map(\.holder)
        (name.processes, name.holders) = (holders.count, holders)
        return name
    }

    /// Counts the letters. It finds them by their identifiers, which are indexed.
    private static func letterCount(_ pattern: String, _ db: Database) throws -> Int {
        let (subjects, prefix) = (try ChannelPattern(validating: pattern), DeadLetterHeader.idPrefix)
        let letters = try Row.fetchCursor(
            db,
            sql: "SELECT subject FROM channels_messages WHERE identifier >= ? AND identifier < ? AND durable",
            // A dot, because it is the character after the hyphen.
            arguments: [prefix, prefix.dropLast() + "."]
        )
        var count = 0
        while let row = try letters.next() { if subjects.matches(row[0]) { count += 1 } }
        return count
    }
}

// MARK: Messages one by one

extension SQLiteTransport: MessageStore {
    /// Returns the next stored messages that match a pattern, in the order in which they were stored.
    public func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]
    {
        try await page(after: Int64(clamping: number), matching: pattern, atMost: limit, onlyDurable: true)
    }

    /// Returns the next stored messages from a start on, including those that are not durable.
    package func stored(from start: ReplayStart, matching pattern: ChannelPattern) async throws -> [StoredMessage] {
        let position = try await observe { db, _ in try SQLiteSchema.position(of: start, db) }
        return try await page(after: position, matching: pattern, atMost: 256, onlyDurable: false)
    }

    private func page(
        after number: Int64,
        matching pattern: ChannelPattern,
        atMost limit: Int,
        onlyDurable: Bool
    ) async throws -> [StoredMessage] {
        try await observe { db, _ in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT number, subject, headers, body, time
                    FROM channels_messages WHERE number > ? AND durable >= ? ORDER BY number
                    """,
                arguments: [number, onlyDurable]
            )
            var (page, bytes) = ([StoredMessage](), 0)
            while page.count < limit, bytes < 16 << 20, let row = try rows.next() {
                guard pattern.matches(row["subject"]) else { continue }
                let message = TransportMessage(row)
                bytes += message.byteCount
                let number = UInt64(row["number"] as Int64)
                page.append(StoredMessage(number: number, message, secondsSince1970: row["time"]))
            }
            return page
        }
    }

    /// Removes a stored message, for all durable names.
    public func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        let number = Int64(clamping: number)
        try await mailbox().perform(.task) { db, _ in
            try db.execute(sql: "DELETE FROM channels_messages WHERE number = ?", arguments: [number])
            try db.execute(sql: "DELETE FROM channels_unsettled WHERE number = ?", arguments: [number])
        }
    }

    /// Returns how many messages a durable name has not settled yet.
    public func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        try await observe { db, path in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT * FROM channels_consumers WHERE name = ? AND pattern = ?",
                arguments: [name, pattern.text]
            )
            return try rows.map { try Self.name($0, path, db) }.reduce(0) { $0 + $1.waiting + $1.unsettled }
        }
    }
}
#endif
