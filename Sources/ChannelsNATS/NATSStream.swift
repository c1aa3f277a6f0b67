#if NATS
/// A stream of JetStream, which stores every message that any client publishes on its subjects.
///
/// ```swift
/// configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
/// ```
///
/// An existing stream of the same name is used unchanged; differences are reported as `TransportEvent.failed`
/// with the code `settingsDiffer`, and as a fault of the switchboard. With settings that would lose messages, the run
/// of a bridge ends. The subjects of two streams must not overlap.
public struct NATSStream: Sendable, Hashable {
    /// Where messages are stored.
    public enum Storage: Sendable, Hashable {
        /// In files, which survive a restart of the server. The server's `sync_interval` says how often they
        /// are synced to disk.
        case file
        /// In memory. Messages survive a restart only with several ``NATSConfiguration/replicas``.
        case memory
    }

    /// How long messages are stored.
    public enum Retention: Sendable, Hashable {
        /// Until a limit is reached, whether or not they have been handled, so that names that subscribe
        /// later receive them, too. Without a limit, they are stored forever.
        case limits
        /// Until every subscribed durable name has settled them. Messages on subjects without a durable name
        /// are not stored.
        case interest
    }

    /// How old the messages of a stream may be, and how many it may have. If a limit is nil, the stream has no such
    /// limit.
    public struct Limits: Sendable, Hashable {
        /// The maximum age of a message. Older ones are removed, handled or not.
        public var age: Duration?
        /// The maximum number of messages. Messages beyond it are refused.
        public var messages: Int?
        /// The maximum number of bytes. Messages beyond it are refused.
        public var bytes: Int?

        /// Creates limits.
        public init(age: Duration? = nil, messages: Int? = nil, bytes: Int? = nil) {
            self.age = age
            self.messages = messages
            self.bytes = bytes
        }
    }

    /// The name: one segment, by convention in capitals.
    public var name: String
    /// The subjects that are stored, as patterns.
    public var subjects: [String]
    /// Where messages are stored. In files by default.
    public var storage: Storage = .file
    /// How long messages are stored. By default until a limit is reached, so set one.
    public var retention: Retention = .limits
    /// How old the stored messages may be, and how many there may be. No limits by default.
    public var limits = Limits()
    /// How long the server recognizes a message that is published again with its identifier. Two minutes by
    /// default.
    public var duplicateWindow: Duration = .seconds(120)
    /// Whether only the last message of each subject is stored, as in a bucket of the key-value store.
    var keepsLastValues = false
    /// How many servers store each message, from the configuration.
    var replicas = 1

    /// Creates a description of a stream.
    public init(_ name: String, subjects: [String]) {
        self.name = name
        self.subjects = subjects
    }
}
#endif
