internal import CPostgreSQL
public import Channels
public import ChannelsBridge

/// The transactional outbox: a message that commits with your data.
extension NamedChannel where Message: Encodable {
    /// Stores a message in a transaction on your own connection.
    ///
    /// It is delivered once the transaction commits, however long that takes, and never if it is rolled back.
    ///
    /// ```swift
    /// try connection.execute("BEGIN")
    /// try connection.execute("INSERT INTO orders …")
    /// try board[.sold].post(Receipt(order), in: connection.handle)
    /// try connection.execute("COMMIT")
    /// ```
    ///
    /// Every ``PostgreSQLTransport`` over the database delivers it as a durable message, also to this
    /// process. Without libpq, call the SQL function `channels_post`. Or create the message with
    /// `TransportMessage(posting:on:)`, and `INSERT INTO channels_messages (subject, headers, body)`, with
    /// one header per line, as `name:value`.
    ///
    /// - Parameters:
    ///   - type: The name of the type in the envelope; by default the name of `Message`.
    ///   - codec: The codec of the receiving routes, JSON by default.
    ///   - subjectPrefix: The `BridgeConfiguration/subjectPrefix` of the receiving bridges.
    ///   - connection: Your connection, a `PGconn` of libpq, inside the transaction. The call waits for the server's answer.
    /// - Throws: A `BridgeError`, after which the transaction must be rolled back.
    public func post(
        _ message: Message,
        type: String? = nil,
        codec: some Codec = JSONCodec(),
        subjectPrefix: String = "",
        in connection: OpaquePointer
    ) throws {
        let posted = try TransportMessage(
            posting: message,
            on: self,
            type: type,
            codec: codec,
            subjectPrefix: subjectPrefix
        )
        _ = try run(Schema.insert(posted, durable: true), on: connection, subject: posted.subject)
    }
}

/// The inbox: a message that is settled in the same transaction as its listener's work.
extension Posted {
    /// Settles a durable message in a transaction on your own connection to the database that it came from.
    ///
    /// The message is settled together with your data once the transaction commits, and not if it is rolled
    /// back, so it takes effect exactly once. Commit before the listener returns. A listener that settles
    /// should be the only one of its durable name.
    ///
    /// - Parameter connection: Your connection, a `PGconn` of libpq, inside the transaction. The call waits for the
    ///   server's answer.
    /// - Throws: A `BridgeError` with the code `unsupported` if the message is not a durable one from
    ///   PostgreSQL; with the code `refused` if it no longer belongs to this process, or if the connection is
    ///   to another database. Roll the transaction back in both cases.
    public func settle(in connection: OpaquePointer) throws {
        guard let delivery = delivery?.transportContext as? PostgreSQLDelivery else {
            let detail = "only a message that came in as a durable one from PostgreSQL can be settled in a transaction"
            throw BridgeError(.unsupported, subject: channelName, detail: detail)
        }
        guard try run(delivery.removal(), on: connection, subject: channelName) == 1 else {
            let detail = "the message is settled, another process has it, or this is another database"
            throw BridgeError(.refused, subject: channelName, detail: detail)
        }
    }
}

/// Runs a statement on the user's own connection. Returns how many rows were changed.
private func run(_ statement: Statement, on connection: OpaquePointer, subject: String?) throws -> Int {
    guard PQtransactionStatus(connection) == PQTRANS_INTRANS else {
        guard PQstatus(connection) == CONNECTION_OK else {
            throw BridgeError(.notConnected, subject: subject, detail: Connection.message(connection))
        }
        let detail = "the connection is in no transaction: begin one, and write your own data in it"
        throw BridgeError(.refused, subject: subject, detail: detail)
    }
    let result = withParameters(statement.parameters) { values, lengths, formats in
        PQexecParams(connection, statement.sql, Int32(statement.parameters.count), nil, values, lengths, formats, 1)
    }
    guard let result else {
        throw BridgeError(.notConnected, subject: subject, detail: Connection.message(connection))
    }
    defer { PQclear(result) }
    guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
        throw BridgeError(SQLFailure(result), subject: subject)
    }
    return Int(String(cString: PQcmdTuples(result))) ?? 0
}
