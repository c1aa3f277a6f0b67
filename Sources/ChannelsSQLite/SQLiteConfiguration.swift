#if SQLite
internal import Channels
internal import ChannelsBridge

/// The file, limits and timeouts of a ``SQLiteTransport``.
///
/// The path must not be empty, and every limit and duration must be positive; otherwise creating the
/// transport traps.
public struct SQLiteConfiguration: Hashable, Sendable {
    /// When a commit counts as done.
    public enum Synchronous: Hashable, Sendable {
        /// Once the commit is on disk: acknowledged messages survive a power failure. Messages stored at the
        /// same time share one sync. Taking and settling messages is not synced: after a power failure, they
        /// may be delivered again.
        case full
        /// Once the operating system has the commit: acknowledged messages survive a crash of the process,
        /// but the newest may be lost in a power failure.
        case normal
    }

    /// The limits up to which settled messages are kept for replay. Messages that some durable name has not
    /// settled are kept whatever the limits, and so are all messages after them.
    public struct Retention: Hashable, Sendable {
        /// How long a durable message is kept, by the wall clock.
        public var age: Duration
        /// How many of the newest durable messages are kept.
        public var messages: Int
        /// The total size in bytes of the durable messages that are kept, including headers.
        public var bytes: Int

        /// Creates limits.
        public init(
            age: Duration = .seconds(7 * 86_400),
            messages: Int = 1_000_000,
            bytes: Int = 1 << 30
        ) {
            self.age = age
            self.messages = messages
            self.bytes = bytes
        }
    }

    /// The path of the file, which is created if it is missing. It may be your own database: the names of the
    /// transport's tables begin with `channels_`. A relative path is resolved when the transport is created.
    public var path: String
    /// How long messages are kept.
    public var retention: Retention
    /// When a commit counts as done.
    public var synchronous: Synchronous
    /// How long a call waits for a file that another program has locked. As long as others keep committing,
    /// the file counts as in use, not as locked: the call then waits for its turn without this limit.
    public var busyTimeout: Duration

    // Only tests and tools change these.

    /// The maximum number of bytes of a body.
    package var bodyLimit = Self.bodyLimit
    static let bodyLimit = 8 << 20
    /// Whether the file and the tables must exist, and nothing is removed: for a tool that only observes.
    package var isObserver = false

    /// Creates a configuration.
    public init(
        path: String,
        retention: Retention = Retention(),
        synchronous: Synchronous = .full,
        busyTimeout: Duration = .seconds(30)
    ) {
        self.path = path
        self.retention = retention
        self.synchronous = synchronous
        self.busyTimeout = busyTimeout
    }

    /// Traps if the path is empty, or a limit or a duration is not positive.
    func check() {
        require(!path.isEmpty, "SQLiteConfiguration.path is \"\", not a path: write \"channels.sqlite\"")
        require(
            !path.utf8.contains(0),
            "SQLiteConfiguration.path is \(quoted(path)), not a path: write it without a zero byte"
        )
        Settings.check(
            "SQLiteConfiguration",
            limits: [
                ("retention.messages", retention.messages), ("retention.bytes", retention.bytes),
                ("bodyLimit", bodyLimit),
            ],
            times: [("retention.age", retention.age), ("busyTimeout", busyTimeout)]
        )
    }
}
#endif
