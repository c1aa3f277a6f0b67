public import Channels

extension InMemoryTransport: MessageStore {
    /// Returns how many messages a durable name has not settled yet.
    public func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        try whileConnected(pattern.text) { $0.unsettledCount(of: name, on: pattern) }
    }

    /// Returns the next stored messages that match a pattern. The time of a message is known as long as the
    /// broker keeps it for names that subscribe later.
    public func stored(
        after number: UInt64,
        matching pattern: ChannelPattern,
        atMost limit: Int,
        settledBy name: String
    ) async throws -> [StoredMessage] {
        let stored = try whileConnected(pattern.text) { $0.stored(after: number, for: name, on: pattern) }
        return Array(stored.prefix(limit))
    }

    /// Settles a message that is waiting for a durable name.
    public func settle(_ number: UInt64, of name: String, on pattern: ChannelPattern) async throws {
        try whileConnected(pattern.text) { try $0.settle(number, of: name, on: pattern) }
    }

    /// Removes a stored message, except for durable names to which it has been delivered.
    public func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        try whileConnected(pattern.text) { $0.remove(number) }
    }

    /// Keeps letters until somebody puts them back, even if that is after the broker has dropped them from
    /// the messages that it replays.
    public func prepare(forLetterOn subject: String, under prefix: String) async throws {
        let pattern = try ChannelPattern(validating: prefix + ".>")
        try whileConnected(subject) { $0.keep(pattern, for: DeadLetterBox.durableName) }
    }
}
