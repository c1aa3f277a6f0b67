#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A claimed message that was delivered, until it is settled or released. It belongs to the session that
/// claimed it, and ends with it.
///
/// `isInTransaction` is guarded by its lock; everything else is constant.
final class SQLiteDelivery: DeliveryContext {
    /// How long a message that was released without being settled waits for its next delivery.
    static let releaseDelay = Duration.seconds(1)

    /// Identifies the row which says that the session has the message. No other session has this token, even
    /// in an older copy of the file, so nothing in the copy is settled by mistake.
    struct Holding: Sendable {
        let place: Int
        let name: Int64
        let number: Int64
        let delivery: Int
        let token: String
        let byteCount: Int

        /// Settles the message. Returns whether the session had it.
        func settle(_ db: Database) throws -> Bool { try change("DELETE FROM channels_unsettled", db) }

        /// Releases the message, so that any session of the name can have it.
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
        // If the listener's transaction was rolled back, the message is still there and is delivered again.
        let isDecided = settlement == .acknowledged && isSettledByListener
        let settlement = isDecided ? nil : settlement
        mailbox.send { [holding] in $0.settle(holding, settlement ?? .retry(after: Self.releaseDelay)) }
    }

    /// Settles the message in a transaction on another connection to the file. Returns false if this process
    /// no longer has it, or if the database is another file, such as a copy.
    func settle(in db: Database) throws -> Bool {
        let path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
        guard let file, let path, FileIdentity(path) == file else { return false }
        isInTransaction.withLock { $0 = true }
        return try holding.settle(db)
    }

    /// Stores a dead letter in the transaction that settles the message.
    ///
    /// - Returns: False if a listener has settled the message, or this process no longer has it. Then no
    ///   letter is stored.
    /// - Throws: The errors of publishing the letter. Then nothing has changed.
    func refuse(keeping letter: TransportMessage) async throws -> Bool {
        try await mailbox.perform(.message) { [holding] db, _ in
            guard try holding.settle(db) else { return false }
            _ = try SQLiteSchema.insert(letter, durable: true, db)
            return true
        }
    }
}
#endif
