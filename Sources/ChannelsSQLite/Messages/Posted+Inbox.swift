#if SQLite
public import Channels
internal import ChannelsBridge
public import GRDB

/// The inbox: a message that is settled in the same transaction as its listener's work.
extension Posted {
    /// Settles a durable message in a transaction of your own, on the file that it came from.
    ///
    /// The message is settled together with your data once the transaction commits, and not if it is rolled
    /// back, so the message takes effect exactly once.
    ///
    /// ```swift
    /// let token = board[.sold].posts.listen { post in
    ///     try await database.write { db in
    ///         try Booking(post.message).insert(db)
    ///         try post.settle(in: db)
    ///     }
    /// }
    /// ```
    ///
    /// A message is settled once for all listeners of a durable name, so a listener that settles should be
    /// the only one. If the transaction is rolled back, the message is delivered again, even if the listener
    /// does not throw. Commit before the listener returns.
    ///
    /// - Parameter db: Your database, inside the transaction. It must be the file of the bridge's
    ///   ``SQLiteTransport``.
    /// - Throws: A `BridgeError` with the code `unsupported` if the message is not a durable one from a file;
    ///   with the code `refused` if the message no longer belongs to this process, because it was settled or
    ///   the file was replaced, or if `db` is another file; a `DatabaseError`. Let the error end the
    ///   transaction.
    public func settle(in db: Database) throws {
        guard let message = delivery?.context as? SQLiteDelivery else {
            let detail = "only a message that came in as a durable one over a file can be settled in a transaction"
            throw BridgeError(.unsupported, subject: channelName, detail: detail)
        }
        guard try db.tableExists("channels_unsettled"), try message.settle(in: db) else {
            let detail =
                "message \(quoted(delivery?.id ?? "")) is settled, another process has it, or this is another database"
            throw BridgeError(.refused, subject: channelName, detail: detail)
        }
    }

    /// Records in a transaction of your own that a message from another transport has been handled.
    ///
    /// The record is committed together with your data, and found at the next delivery. It is a record of one
    /// handler, so that several listeners, or processes with different durable names, can keep their effects in one
    /// database.
    ///
    /// ```swift
    /// let token = board[.sold].posts.listen { post in
    ///     try await database.write { db in
    ///         guard try post.markHandled(by: "booking", in: db) else { return }
    ///         try Booking(post.message).insert(db)
    ///     }
    /// }
    /// ```
    ///
    /// The records are in the table `channels_handled`, which is created if missing.
    ///
    /// - Parameters:
    ///   - handler: Names the effect, such as `booking`. A message is handled once by each handler, so every listener
    ///     with an effect of its own needs a name of its own, which stays the same in later runs.
    ///   - count: How many records are kept, of all handlers together. A message delivered again after that many
    ///     others counts as new.
    ///   - db: Your database, inside the transaction.
    /// - Returns: False if the message was handled before.
    /// - Throws: A `BridgeError` with the code `unsupported` for a message without an identifier, such as one
    ///   posted in this process; a `DatabaseError`.
    public func markHandled(by handler: String, keeping count: Int = 1_000_000, in db: Database) throws -> Bool {
        guard let id = delivery?.id, !id.isEmpty, case .remote(let source) = origin else {
            let detail = "it has no identifier: only messages from other processes have one"
            throw BridgeError(.unsupported, subject: channelName, detail: detail)
        }
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS channels_handled (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    handler TEXT NOT NULL,
                    source TEXT NOT NULL,
                    id TEXT NOT NULL,
                    UNIQUE (handler, source, id)
                )
                """
        )
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO channels_handled (handler, source, id) VALUES (?, ?, ?)")
            .execute(arguments: [handler, source, id])
        guard db.changesCount == 1 else { return false }
        try db.cachedStatement(sql: "DELETE FROM channels_handled WHERE number <= ?")
            .execute(arguments: [db.lastInsertedRowID - Int64(max(count, 1))])
        return true
    }
}
#endif
