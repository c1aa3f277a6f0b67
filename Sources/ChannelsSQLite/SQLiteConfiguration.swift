#if SQLite
internal import Channels

/// Says where a ``SQLiteTransport`` keeps its messages, and for how long. The path must not be empty, and
/// every limit and duration must be positive; otherwise creating the transport traps.
public struct SQLiteConfiguration: Hashable, Sendable {
    /// When a commit counts as done.
    public enum Synchronous: Hashable, Sendable {
        /// When it is on disk: acknowledged messages survive a power failure. Messages stored at the same
        /// time share one sync. Taking and settling messages is not synchronised: after a power failure, they
        /// may be delivered again.
        case full
        /// When the operating system has it: acknowledged messages survive a crash of the process, but the
        /// newest may be lost in a power failure.
        case normal
    }

    /// Limits how long settled messages are kept, for routes that replay them.
    public struct Retention: Hashable, Sendable {
        /// How long a durable message is kept, by the wall clock.
        public var age: Duration
        /// How many durable messages are kept: the newest.
        public var messages: Int
        /// The total size of their bodies and headers, in bytes.
        public var bytes: Int
        /// Whether a message that a durable name has not settled is kept beyond these limits, with all later
        /// ones. Otherwise it is lost for that name, and `BridgeError/Code/messagesLost` says how many were
        /// lost.
        public var keepsUnsettled: Bool

        /// Creates a retention.
        public init(
            age: Duration = .seconds(7 * 86_400),
            messages: Int = 1_000_000,
            bytes: Int = 1 << 30,
            keepsUnsettled: Bool = true
        ) {
            (self.age, self.messages, self.bytes, self.keepsUnsettled) = (age, messages, bytes, keepsUnsettled)
        }
    }

    /// The path of the file, which is created if there is none. It may be a database of your own: the transport's
    /// tables begin with `channels_`. A relative path is resolved when the transport is created.
    public var path: String
    /// How long messages are kept.
    public var retention: Retention
    /// When a commit counts as done.
    public var synchronous: Synchronous
    /// How long a call waits for a file that another program has locked.
    public var busyTimeout: Duration
    /// How many messages of a durable name a process takes before it has settled them, and so how many others of the name
    /// cannot have. Lower it where a message takes a listener long, so that processes share the work evenly; a low
    /// number costs throughput.
    public var unsettledLimit: Int
    /// The maximum number of bytes of a body.
    public var bodyLimit: Int
    /// Whether the file and the tables have to be there, and nothing is removed. For a tool that only looks.
    package var isObserver = false

    /// Creates a configuration.
    public init(
        path: String,
        retention: Retention = Retention(),
        synchronous: Synchronous = .full,
        busyTimeout: Duration = .seconds(30),
        unsettledLimit: Int = 256,
        bodyLimit: Int = 8 << 20
    ) {
        self.path = path
        self.retention = retention
        self.synchronous = synchronous
        self.busyTimeout = busyTimeout
        self.unsettledLimit = unsettledLimit
        self.bodyLimit = bodyLimit
    }

    /// Traps if the path is empty, or a limit or a duration is not positive.
    func check() {
        require(!path.isEmpty, "SQLiteConfiguration.path is \"\", not a path: write \"channels.sqlite\"")
        require(
            !path.utf8.contains(0),
            "SQLiteConfiguration.path is \(quoted(path)), not a path: write it without a zero byte"
        )
        let durations = [
            ("retention.age", retention.age), ("busyTimeout", busyTimeout),
        ]
        for (name, duration) in durations {
            require(
                duration > .zero,
                "SQLiteConfiguration.\(name) is \(duration); it must be positive: write a time above .zero"
            )
        }
        let limits = [
            ("retention.messages", retention.messages), ("retention.bytes", retention.bytes), ("bodyLimit", bodyLimit),
            ("unsettledLimit", unsettledLimit),
        ]
        for (name, limit) in limits {
            require(limit > 0, "SQLiteConfiguration.\(name) is \(limit); it must be positive: write 1 or more")
        }
    }
}
#endif
