#if SQLite
package import Channels
package import ChannelsBridge
internal import GRDB

/// Queries of the channels tool.
extension SQLiteTransport {
    /// The contents of a file.
    package struct Contents: Sendable {
        /// A durable name.
        package struct Name: Sendable {
            package let name: String
            package let pattern: String
            /// How many messages it has not taken.
            package let waiting: Int
            /// How many it has taken and not settled.
            package let unsettled: Int
            /// How many of those were delivered more than once.
            package let redelivered: Int
            /// How many connections use the name.
            package let holders: Int
        }

        package let messages: Int
        package let bytes: Int
        /// When the newest durable message was stored.
        package let last: Timestamp?
        package let names: [Name]
    }

    /// Counts the durable messages, and what each durable name has of them.
    ///
    /// - Complexity: O(*n*) in the number of messages, for each name.
    package func contents() async throws -> Contents {
        let file = try session().file
        return try await file.read { [path = file.location] db in
            let totals = try Row.fetchOne(
                db,
                sql: """
                    SELECT COUNT(*), SUM(LENGTH(headers) + LENGTH(body)), MAX(time) FROM channels_messages WHERE durable
                    """
            )!  // an aggregate has always a row
            let names = try Row.fetchAll(db, sql: "SELECT * FROM channels_consumers ORDER BY name, pattern").map {
                try Self.name($0, path, db)
            }
            let last: Double? = totals[2]
            return Contents(
                messages: totals[0],
                bytes: totals[1] ?? 0,
                last: last.map { Timestamp(secondsSince1970: $0) },
                names: names
            )
        }
    }

    /// The living connections that use a durable name.
    private static func subscribers(of name: Int64, _ path: String, _ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT member FROM channels_subscribers WHERE consumer = ?", arguments: [name])
            .filter { !SQLiteMember.Other($0, beside: path).hasEnded }
    }

    /// Removes a durable name, and no longer keeps its unsettled messages.
    ///
    /// - Returns: The patterns under which it was known.
    /// - Throws: ``BridgeError/Code/refused`` if there is no such name, or a running process uses it.
    package func forget(_ name: String) async throws -> [String] {
        let file = try session().file
        return try await file.write { [path = file.location] db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT id, pattern FROM channels_consumers WHERE name = ?",
                arguments: [name]
            )
            guard !rows.isEmpty else { throw BridgeError(.refused, detail: "there is no durable name \(quoted(name))") }
            for row in rows {
                guard try Self.subscribers(of: row["id"], path, db).isEmpty else {
                    let detail = "a running process uses the durable name \(quoted(name)): end it first"
                    throw BridgeError(.refused, detail: detail)
                }
                try db.execute(sql: "DELETE FROM channels_consumers WHERE id = ?", arguments: [row["id"] as Int64])
            }
            return rows.map { $0["pattern"] }
        }
    }

    private static func name(_ row: Row, _ path: String, _ db: Database) throws -> Contents.Name {
        let pattern = try ChannelPattern(validating: row["pattern"])
        let subjects = try Row.fetchCursor(
            db,
            sql: "SELECT subject, COUNT(*) FROM channels_messages WHERE durable AND number > ? GROUP BY subject",
            arguments: [row["position"] as Int64]
        )
        var waiting = 0
        while let row = try subjects.next() {
            if pattern.matches(row[0]) { waiting += row[1] }
        }
        let unsettled = try Row.fetchOne(
            db,
            sql: "SELECT COUNT(*), SUM(deliveries > 1) FROM channels_unsettled WHERE consumer = ?",
            arguments: [row["id"] as Int64]
        )!  // an aggregate has always a row
        return Contents.Name(
            name: row["name"],
            pattern: row["pattern"],
            waiting: waiting,
            unsettled: unsettled[0],
            redelivered: unsettled[1] ?? 0,
            holders: try subscribers(of: row["id"], path, db).count
        )
    }

    /// Subscribes to stored and later messages without leaving a trace in the file. Messages need not be
    /// settled. It has to be the first subscription of the connection.
    package func replay(
        _ pattern: ChannelPattern,
        from start: ReplayStart,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        try await session().subscribe(pattern, group: nil, from: start, HandlerQueue(onMessage))
    }
}
#endif
