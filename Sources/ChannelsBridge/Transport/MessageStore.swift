public import Channels

/// A transport that can list what it stores and change single messages: for dead letters, and for tools.
///
/// ``DeadLetterBox`` needs it to list letters, and to put back or drop one of them.
public protocol MessageStore: Transport {
    /// Returns how many messages a durable name has not settled yet, including those delivered to a process;
    /// 0 if the broker does not know the name.
    func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int

    /// Returns the next page of stored messages that match a pattern, in the order in which they were stored.
    /// After the last page, it is empty.
    ///
    /// - Parameters:
    ///   - number: The number of the last message of the previous page; 0 for the first page.
    ///   - limit: The largest number of messages in the page, which may have fewer.
    func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]

    /// Removes a stored message, for all durable names.
    func remove(_ number: UInt64, on pattern: ChannelPattern) async throws

    /// Ensures that dead letters are kept until somebody puts them back. Called before each one is stored.
    ///
    /// The default implementation does nothing, which suits brokers that store every durable message.
    ///
    /// - Parameters:
    ///   - subject: The subject of the letter.
    ///   - prefix: The prefix of every letter's subject, without the period that follows it.
    func prepare(forLetterOn subject: String, under prefix: String) async throws
}

extension MessageStore {
    /// Does nothing. This suits brokers that store every durable message.
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

    /// Creates a description, for the author of a transport.
    public init(number: UInt64, _ message: TransportMessage, secondsSince1970: Double?) {
        (self.number, self.message) = (number, message)
        self.secondsSince1970 = secondsSince1970
    }
}
