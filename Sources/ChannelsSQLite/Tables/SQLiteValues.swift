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
#endif
