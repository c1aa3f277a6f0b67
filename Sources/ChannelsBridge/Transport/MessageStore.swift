package import Channels

/// A transport that knows how many messages wait for a durable name.
package protocol CountingStore: Transport {
    /// How many messages a durable name has yet to settle.
    func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int
}

/// What a person asks of a transport that stores messages: which there are, and to settle or remove one of them.
package protocol MessageStore: CountingStore {
    /// The next stored messages that match a pattern, in the order stored: a page of them, empty at the end.
    ///
    /// - Parameters:
    ///   - number: The number of the last message of the page before; 0 to begin.
    ///   - limit: How many there are in a page at most.
    ///   - name: The durable name of which ``StoredMessage/isSettled`` tells.
    func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int, settledBy name: String)
        async throws -> [StoredMessage]

    /// Settles a message for a durable name, also if the messages before it are not settled. A broker that cannot do
    /// that removes the message.
    ///
    /// - Throws: ``BridgeError/Code/refused`` if it is settled, or another process has it.
    func settle(_ number: UInt64, of name: String, on pattern: ChannelPattern) async throws

    /// Removes a stored message, for all durable names.
    func remove(_ number: UInt64, on pattern: ChannelPattern) async throws
}

/// A message as a transport stores it.
package struct StoredMessage: Sendable {
    package let number: UInt64
    package let message: TransportMessage
    package let storedAt: Timestamp?
    /// Whether the durable name in question has settled it; nil if the transport cannot tell.
    package let isSettled: Bool?

    package init(number: UInt64, _ message: TransportMessage, storedAt: Timestamp?, isSettled: Bool?) {
        (self.number, self.message, self.storedAt, self.isSettled) = (number, message, storedAt, isSettled)
    }
}
