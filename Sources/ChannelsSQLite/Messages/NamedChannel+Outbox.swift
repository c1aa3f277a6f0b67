#if SQLite
public import Channels
public import ChannelsBridge
public import GRDB

/// The transactional outbox: a message that commits with your data.
extension NamedChannel where Message: Encodable {
    /// Stores a message in a transaction on your own database.
    ///
    /// It is delivered once the transaction commits, and never if it is rolled back.
    ///
    /// ```swift
    /// try await database.write { db in
    ///     try order.insert(db)
    ///     try board[.sold].post(Receipt(order), in: db)
    /// }
    /// ```
    ///
    /// Every ``SQLiteTransport`` over the file delivers it as a durable message with a remote origin, and a
    /// `Relay` forwards it to a broker. It also reaches this process's listeners if its bridge has an
    /// `incoming` route for the name. Missing tables are created.
    ///
    /// - Parameters:
    ///   - type: The name of the type in the envelope; by default the name of `Message`.
    ///   - codec: The codec of the receiving routes, JSON by default.
    ///   - subjectPrefix: The `BridgeConfiguration.subjectPrefix` of the receiving bridges, empty by default.
    ///     Bridges with another prefix do not receive the message.
    ///   - db: Your database, inside the transaction.
    /// - Throws: The error of the codec; a `BridgeError` for the channel of a type, which has no name, for a body
    ///   of more than 8 MiB, or if a newer version has created the tables; a `DatabaseError`.
    public func post(
        _ message: Message,
        type: String? = nil,
        codec: some Codec = JSONCodec(),
        subjectPrefix: String = "",
        in db: Database
    ) throws {
        let message = try TransportMessage(
            posting: message,
            on: self,
            type: type,
            codec: codec,
            subjectPrefix: subjectPrefix
        )
        try message.check(upTo: SQLiteConfiguration.bodyLimit)
        try SQLiteSchema.prepare(db)
        _ = try SQLiteSchema.insert(message, durable: true, db)
    }
}
#endif
