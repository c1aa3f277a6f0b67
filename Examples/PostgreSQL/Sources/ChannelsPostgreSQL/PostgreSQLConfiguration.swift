public import ChannelsBridge

/// The server, limits and times of a ``PostgreSQLTransport``.
///
/// Every limit and time must be positive; otherwise creating the transport traps.
public struct PostgreSQLConfiguration: Hashable, Sendable {
    /// The connection string of libpq: `host=db.example.org dbname=shop user=till`, or a URL.
    ///
    /// The connection must be a session: a pool that shares one between transactions carries neither `LISTEN` nor
    /// advisory locks. With `options=-csearch_path=till`, the tables are in the schema `till`.
    public var connection: String
    /// The maximum number of bytes of a body.
    public var bodyLimit = 16 << 20
    /// How many bytes may wait to be stored. A publisher waits while there are more; without a connection, it
    /// gets `BridgeError.Code.bufferFull`.
    public var bufferLimit = 16 << 20
    /// How often a transport looks for messages that no notification told it of, and for processes that have ended.
    public var pollInterval = Duration.seconds(1)
    /// How long the server may take to answer before the connection counts as lost.
    public var answerTimeout = Duration.seconds(10)
    /// The delays between attempts to connect again.
    public var reconnecting = Backoff(first: .milliseconds(50), limit: .seconds(5))
    /// How long messages that are not durable are kept for subscribers that are slow.
    public var plainRetention = Duration.seconds(60)
    /// How long durable messages are kept, once every durable name has settled them, for names that come later.
    public var retention = Duration.seconds(7 * 86_400)

    /// Creates a configuration with default limits.
    public init(connection: String) { self.connection = connection }

    func check() {
        let limits = ["bodyLimit": bodyLimit, "bufferLimit": bufferLimit]
        let times = [
            "pollInterval": pollInterval, "answerTimeout": answerTimeout, "plainRetention": plainRetention,
            "retention": retention,
        ]
        for (name, limit) in limits where limit <= 0 {
            fatalError("PostgreSQLConfiguration.\(name) is \(limit); it must be positive: write 1 or more")
        }
        for (name, time) in times where time <= .zero {
            fatalError("PostgreSQLConfiguration.\(name) is \(time); it must be positive: write a time above .zero")
        }
    }
}
