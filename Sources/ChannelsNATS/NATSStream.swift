#if NATS
/// A stream of JetStream, which stores every message that any client publishes on its subjects.
///
/// ```swift
/// configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"], replicas: 3)]
/// ```
///
/// An existing stream of the same name is used unchanged; differences are reported as `TransportEvent.failed`
/// with the code `settingsDiffer`, and as a fault of the switchboard. The subjects of two streams must not
/// overlap.
public struct NATSStream: Sendable, Hashable {
    /// Where messages are stored.
    public enum Storage: Sendable, Hashable {
        /// In files, which survive a restart of the server. Its `sync_interval` sets when they are synced to
        /// disk.
        case file
        /// In memory. Messages survive a restart only with several ``NATSStream/replicas``.
        case memory
    }

    /// How long messages are stored.
    public enum Retention: Sendable, Hashable {
        /// Until a limit is reached, whether or not they have been handled: names that subscribe later
        /// receive them too. Without a limit, they are stored forever.
        case limits
        /// Until every subscribed durable name has settled them. Messages on subjects without a durable name
        /// are not stored.
        case interest
    }

    /// The name: one token, by convention in capitals.
    public var name: String
    /// The subjects that are stored, as patterns.
    public var subjects: [String]
    /// Where messages are stored. In files by default.
    public var storage: Storage = .file
    /// How long messages are stored; by default until a limit is reached, so set one.
    public var retention: Retention = .limits
    /// How many servers of the cluster store each message: 1, 3 or 5. More than half of them must have stored
    /// it before it is acknowledged.
    public var replicas: Int
    /// The maximum age of a message; nil for no limit.
    public var ageLimit: Duration?
    /// The maximum number of bytes; nil for as many as the server allows. Messages beyond it are refused.
    public var byteLimit: Int?
    /// The maximum number of messages; nil for as many as the server allows. Messages beyond it are refused.
    public var messageLimit: Int?
    /// How long the server recognises a message that is published again with its identifier. Two minutes by
    /// default.
    public var duplicateWindow: Duration = .seconds(120)
    /// Whether only the last message of each subject is stored, as in a bucket of the key-value store.
    var keepsLastValues = false

    /// Creates a description of a stream.
    public init(_ name: String, subjects: [String], replicas: Int = 1) {
        self.name = name
        self.subjects = subjects
        self.replicas = replicas
    }
}
#endif
