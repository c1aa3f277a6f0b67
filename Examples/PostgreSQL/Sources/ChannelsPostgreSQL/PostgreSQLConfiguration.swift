/// The server, limits and times of a ``PostgreSQLTransport``.
///
/// Every limit and time must be positive; otherwise creating the transport traps.
public struct PostgreSQLConfiguration: Hashable, Sendable {
    /// The connection string of libpq: `host=db.example.org dbname=shop user=till`, or a URL.
    ///
    /// The connection must be a session: a pool that shares one between transactions carries neither `LISTEN` nor
    /// advisory locks. With `options=-csearch_path=till`, the tables are in the schema `till`.
    public var connection: String
    /// How many bytes may wait to be stored. A publisher waits while there are more; without a connection, it
    /// gets `BridgeError.Code.bufferFull`.
    public var bufferLimit = 16 << 20
    /// How often a transport looks for messages that no notification told it of, and for processes that have ended.
    public var pollInterval = Duration.seconds(1)
    /// How long the server may take to answer before the connection counts as lost.
    public var answerTimeout = Duration.seconds(10)
    /// How long durable messages are kept, once every durable name has settled them, for names that come later.
    public var retention = Duration.seconds(7 * 86_400)

    /// Creates a configuration with default limits.
    public init(connection: String) { self.connection = connection }

    func check() {
        guard bufferLimit > 0, min(pollInterval, answerTimeout, retention) > .zero else {
            fatalError("\(self): a limit or time is not positive; write 1 or more, and times above .zero")
        }
    }
}
