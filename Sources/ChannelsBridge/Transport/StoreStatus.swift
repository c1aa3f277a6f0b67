/// What a transport has stored, as an operator watches it. A figure is nil where the transport cannot tell it.
///
/// Read it with ``Bridge/storeStatus()`` or ``Transport/storeStatus(deadLetters:)``. Nothing is counted before it is
/// read.
public struct StoreStatus: Sendable {
    /// A durable name, and what it has yet to do.
    public struct DurableName: Sendable {
        /// The name; over NATS that of its consumer.
        public var name: String
        /// The subjects it receives.
        public var pattern: String
        /// How many messages no process has taken.
        public var waiting = 0
        /// How many messages processes have taken and not settled.
        public var unsettled = 0
        /// How many of those were delivered more than once.
        public var redelivered = 0
        /// For how long its oldest message has been stored that is not settled; nil if there is none, too.
        public var oldestAge: Duration?
        /// How many processes use it: over a file those that run, over NATS those that currently request messages.
        public var processes = 0
        /// Which those are; nil over NATS.
        public var holders: [Holder]?

        /// Creates a durable name with nothing to do.
        public init(name: String, pattern: String) { (self.name, self.pattern) = (name, pattern) }
    }

    /// A process that uses a durable name.
    public struct Holder: Sendable {
        /// Its name and number, and the host if that is another one: `kitchen[4711]`.
        public var process: String
        /// How long its connection has subscribed.
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
    /// What the transport of the bridge has stored, with the letters of ``BridgeConfiguration/deadLetters``.
    ///
    /// - Throws: ``BridgeError/Code/notConnected`` or ``BridgeError/Code/closed`` if the bridge does not run;
    ///   ``BridgeError/Code/unsupported`` if the transport cannot tell, as the one in memory.
    public func storeStatus() async throws -> [StoreStatus] { try await record.storeStatus() }
}

extension BridgeRecord {
    fileprivate func storeStatus() async throws -> [StoreStatus] {
        try await transport.storeStatus(deadLetters: configuration.deadLetters.map { configuration.subject(of: $0) })
    }
}
