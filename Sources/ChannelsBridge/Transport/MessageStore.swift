public import Channels

/// A transport that can list what it stores and change single messages: for dead letters, and for tools.
///
/// With it, ``DeadLetterBox`` lists letters, puts one of them back and drops one.
public protocol MessageStore: Transport {
    /// Returns how many messages a durable name has yet to settle, including those delivered to a process; 0 if
    /// the broker does not know the name.
    func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int

    /// Returns the next stored messages that match a pattern, in the order stored: a page of them, empty at the end.
    ///
    /// - Parameters:
    ///   - number: The number of the last message of the page before; 0 to begin.
    ///   - limit: How many messages a page has at most. It may have fewer.
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

    /// Makes sure that dead letters are kept until somebody puts them back. Called before each one is stored.
    ///
    /// The default does nothing: for brokers that store every durable message.
    ///
    /// - Parameters:
    ///   - subject: The subject of the letter.
    ///   - prefix: With what the subjects of all letters begin, before a dot.
    func prepare(forLetterOn subject: String, under prefix: String) async throws
}

extension MessageStore {
    /// Does nothing: for brokers that store every durable message.
    public func prepare(forLetterOn subject: String, under prefix: String) async throws {}
}

/// A message as a transport stores it.
public struct StoredMessage: Sendable {
    /// The number by which the broker identifies the message; it increases in the order stored.
    public let number: UInt64
    /// The message.
    public let message: TransportMessage
    /// When it was stored, by the clock of the broker, as Foundation's `timeIntervalSince1970`; nil if the
    /// transport does not know.
    public let secondsSince1970: Double?
    /// Whether the durable name in question has settled it; nil if the transport cannot tell.
    public let isSettled: Bool?

    /// Creates a description, for the author of a transport.
    public init(number: UInt64, _ message: TransportMessage, secondsSince1970: Double?, isSettled: Bool?) {
        (self.number, self.message) = (number, message)
        (self.secondsSince1970, self.isSettled) = (secondsSince1970, isSettled)
    }
}
