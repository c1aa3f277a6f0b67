public import Channels

extension InMemoryTransport: MessageStore {
    /// Returns how many messages a durable name has not settled yet.
    public func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        try whileConnected(pattern.text) { $0.unsettledCount(of: name, on: pattern) }
    }

    /// Returns the next stored messages that match a pattern: those that the broker keeps for names that subscribe
    /// later, and all letters.
    public func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]
    {
        Array(try whileConnected(pattern.text) { $0.stored(after: number, on: pattern) }.prefix(limit))
    }

    /// Removes a stored message, except for durable names to which it has been delivered.
    public func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        try whileConnected(pattern.text) { $0.remove(number) }
    }
}
