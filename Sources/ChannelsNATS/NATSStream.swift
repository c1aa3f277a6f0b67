#if NATS
/// Where JetStream keeps durable messages: what is published on the stream's subjects, by anybody, is stored.
///
/// ```swift
/// configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"], replicas: 3)]
/// ```
///
/// A stream of the same name that exists already is used as it is. The subjects of two streams may not
/// overlap.
public struct NATSStream: Sendable, Hashable {
    /// Where messages are stored.
    public enum Storage: Sendable, Hashable {
        /// In files. They outlive the server; how soon they are on the disk is the server's `sync_interval`.
        case file
        /// In memory. They outlive a server only with ``NATSStream/replicas``.
        case memory
    }

    /// How long messages are kept.
    public enum Retention: Sendable, Hashable {
        /// Until a limit is reached, whoever has handled them: names that subscribe later get them, too.
        /// Without a limit they stay for ever.
        case limits
        /// Until every durable name that has subscribed has settled them. What nobody has subscribed to is
        /// not kept at all.
        case interest
    }

    /// The name: one token, in capitals by custom.
    public var name: String
    /// The subjects that are kept, as patterns.
    public var subjects: [String]
    /// Where messages are stored. In files by default.
    public var storage: Storage = .file
    /// How long messages are kept. By limits by default: set one.
    public var retention: Retention = .limits
    /// On how many servers of the cluster each message is kept: 1, 3 or 5. More than half of them must have
    /// it before it is acknowledged.
    public var replicas: Int
    /// How long a message is kept; nil: for ever.
    public var maximumAge: Duration?
    /// How many bytes are kept; nil: as many as the server allows. What would go beyond is refused.
    public var maximumBytes: Int?
    /// How many messages are kept; nil: as many as the server allows. What would go beyond is refused.
    public var maximumMessages: Int?
    /// For how long a message that is published again with the same identifier is recognised. Two minutes by
    /// default.
    public var duplicateWindow: Duration = .seconds(120)
    /// One message for each subject, as a bucket of the key-value store.
    var keepsLastValues = false

    /// Creates a description of a stream.
    public init(_ name: String, subjects: [String], replicas: Int = 1) {
        self.name = name
        self.subjects = subjects
        self.replicas = replicas
    }
}
#endif
