#if SQLite
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// The last value of each subject. Revisions follow the order of the commits.
enum SQLiteValues {
    static func isThere(_ subject: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM channels_values WHERE subject = ?)"
        return try Bool.fetchOne(db, sql: sql, arguments: [subject]) ?? false
    }

    /// The highest revision so far.
    static func lastRevision(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT MAX(revision) FROM channels_values")) ?? 0
    }

    /// Calls the body for each value stored after a revision whose subject it wants, in the order of revisions.
    static func each(
        after revision: Int64,
        _ db: Database,
        where isWanted: (String) -> Bool,
        _ body: (StoredValue) -> Void
    ) throws {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: "SELECT subject, revision, headers, body FROM channels_values WHERE revision > ? ORDER BY revision"
            ),
            arguments: [revision]
        )
        while let row = try rows.next() {
            guard isWanted(row["subject"]) else { continue }
            let revision: Int64 = row["revision"]
            body(StoredValue(TransportMessage(row), revision: UInt64(revision)))
        }
    }

    /// Stores a value. Returns its revision; nil if there already is a value and `ifNone` is true.
    static func store(_ message: TransportMessage, ifNone: Bool, _ db: Database) throws -> UInt64? {
        let revision = try Int64.fetchOne(
            db,
            sql: """
                INSERT OR \(ifNone ? "IGNORE" : "REPLACE") INTO channels_values (subject, headers, body) VALUES (?, ?, ?)
                RETURNING revision
                """,
            arguments: [message.subject, message.headers.text, Data(message.body)]
        )
        return revision.map { UInt64($0) }
    }
}
#endif
