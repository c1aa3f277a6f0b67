#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A claimed message that was handed out, until it is settled or released. It belongs to the session that claimed it,
/// and ends with that.
///
/// The flag is guarded by its lock.
final class SQLiteDelivery: DeliveryContext {
    /// How long a message waits that was released without being settled.
    static let releaseDelay = Duration.seconds(1)

    /// Where the file says that the session has the message. In an older copy of the file, no other session has this
    /// token, so that nothing of the copy is settled by mistake.
    struct Holding: Sendable {
        let place: Int
        let name: Int64
        let number: Int64
        let delivery: Int
        let token: String
        let byteCount: Int

        /// Returns whether the session had it.
        func settle(_ db: Database) throws -> Bool { try change("DELETE FROM channels_unsettled", db) }

        /// Lets any session of the name have it.
        func release(_ db: Database) throws { _ = try change("UPDATE channels_unsettled SET holder = NULL", db) }

        private func change(_ sql: String, _ db: Database) throws -> Bool {
            try db.cachedStatement(sql: sql + " WHERE consumer = ? AND number = ? AND deliveries = ? AND holder = ?")
                .execute(arguments: [name, number, delivery, token])
            return db.changesCount == 1
        }
    }

    private let holding: Holding
    private let file: FileIdentity?
    private let mailbox: FileMailbox
    private let isInTransaction = Locked(false)

    init(_ holding: Holding, _ file: FileIdentity?, _ mailbox: FileMailbox) {
        (self.holding, self.file, self.mailbox) = (holding, file, mailbox)
    }

    var isSettledByListener: Bool { isInTransaction.withLock { $0 } }

    func settle(_ settlement: Settlement?) {
        // If the listener's transaction was rolled back, the message is still there, and comes again.
        let isDecided = settlement == .acknowledged && isSettledByListener
        let settlement = isDecided ? nil : settlement
        mailbox.send { [holding] in $0.settle(holding, settlement ?? .retry(after: Self.releaseDelay)) }
    }

    /// Settles it in a transaction on another connection to the file. Returns false if this process has it no more, or
    /// the database is another file, which may be a copy.
    func settle(in db: Database) throws -> Bool {
        let path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
        guard let file, let path, FileIdentity(path) == file else { return false }
        isInTransaction.withLock { $0 = true }
        return try holding.settle(db)
    }

    /// Keeps a dead letter of it in the transaction that settles it.
    ///
    /// - Returns: False if the listener has settled it, or this process has it no more; then no letter is kept.
    /// - Throws: The errors of publishing the letter; nothing has changed then.
    func refuse(keeping letter: TransportMessage) async throws -> Bool {
        try await mailbox.perform(.message) { [holding] db, _ in
            guard try holding.settle(db) else { return false }
            _ = try SQLiteSchema.insert(letter, durable: true, db)
            return true
        }
    }
}
#endif
