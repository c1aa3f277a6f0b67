/// What a transport has stored, for monitoring.
///
/// A value is nil if the transport does not know it.
///
/// Read it with ``Bridge/storeStatus()`` or ``Transport/storeStatus(deadLetters:)``. Nothing is counted until
/// then.
public struct StoreStatus: Sendable {
    /// A durable name and its backlog.
    public struct DurableName: Sendable {
        /// The durable name; over NATS, its consumer's name.
        public var name: String
        /// The subjects that the durable name receives.
        public var pattern: String
        /// How many messages no process has taken.
        public var waiting = 0
        /// How many messages have been taken but not settled.
        public var unsettled = 0
        /// How many unsettled messages were delivered more than once.
        public var redelivered = 0
        /// The age of the oldest waiting or unsettled message; nil if there is none.
        public var oldestAge: Duration?
        /// How many processes use the name: over a file, its running connections; over NATS, the current requests
        /// for messages.
        public var processes = 0
        /// The processes that use the name; nil over NATS.
        public var holders: [Holder]?

        /// Creates a durable name without a backlog.
        public init(name: String, pattern: String) { (self.name, self.pattern) = (name, pattern) }
    }

    /// A process that uses a durable name.
    public struct Holder: Sendable {
        /// The process's name and number, and the host if it is another one: `kitchen[4711]`.
        public var process: String
        /// How long the process has been subscribed.
        public var age: Duration

        /// Creates a holder.
        public init(process: String, age: Duration) { (self.process, self.age) = (process, age) }
    }

    /// The name of the stream; `messages` over a file.
    public var name: String
    /// How many dead letters have not been put back.
    public var deadLetters: Int?
    /// The size of the file, without its write-ahead log, in bytes; nil over NATS.
    public var fileBytes: Int?
    /// The size of the write-ahead log, in bytes; nil over NATS.
    public var logBytes: Int?
    /// The time since the last commit; over NATS, since the newest message was stored.
    public var commitAge: Duration?
    /// The durable names.
    public var names: [DurableName] = []

    /// Creates the status of a stream, for the author of a transport.
    public init(name: String) { self.name = name }
}

extension Bridge {
    /// Reports what the bridge's transport has stored, with the letters of
    /// ``BridgeConfiguration/deadLetters``.
    ///
    /// - Throws: ``BridgeError/Code/notConnected`` or ``BridgeError/Code/closed`` if the bridge is not running;
    ///   ``BridgeError/Code/unsupported`` if the transport cannot tell, as is the case with ``InMemoryTransport``.
    public func storeStatus() async throws -> [StoreStatus] {
        let configuration = record.configuration
        return try await record.transport.storeStatus(
            deadLetters: configuration.deadLetters.map { configuration.subject(of: $0) }
        )
    }
}
