/// The server, limits and times of a ``PostgreSQLTransport``.
///
/// Every limit and time must be positive; otherwise creating the transport traps.
public struct PostgreSQLConfiguration: Hashable, Sendable {
    /// The connection string of libpq: `host=db.example.org dbname=shop user=till`, or a URL.
    ///
    /// It must lead to a session of its own: a pool that shares sessions between transactions supports
    /// neither `LISTEN` nor advisory locks. With `options=-csearch_path=till`, the tables are in the schema
    /// `till`.
    public var connection: String
    /// How many bytes may wait to be stored. While there are more, a publisher waits; without a connection,
    /// publishing throws `BridgeError.Code.bufferFull`.
    public var bufferLimit = 16 << 20
    /// How often a transport looks for messages without a notification, and for processes that have ended.
    public var pollInterval = Duration.seconds(1)
    /// How long the server may take to answer before the connection counts as lost.
    public var answerTimeout = Duration.seconds(10)
    /// How long durable messages are kept for later durable names, once every known name has settled them.
    public var retention = Duration.seconds(7 * 86_400)

    /// Creates a configuration with default limits.
    public init(connection: String) { self.connection = connection }

    func check() {
        let times = [("pollInterval", pollInterval), ("answerTimeout", answerTimeout), ("retention", retention)]
        for (name, time) in times where time <= .zero {
            fatalError("PostgreSQLConfiguration.\(name) is \(time); it must be above .zero")
        }
        guard bufferLimit > 0 else {
            fatalError("PostgreSQLConfiguration.bufferLimit is \(bufferLimit); it must be 1 or more")
        }
    }
}
