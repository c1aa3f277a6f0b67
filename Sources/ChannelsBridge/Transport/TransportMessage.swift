internal import Channels

/// A message on its way to a broker or from it: a subject, headers and bytes.
///
/// It is valid by construction, so that no transport has to look again: the subject is a valid channel name
/// (no white space, no control characters, no wildcards: `"x 0\r\n\r\nPUB admin"` cannot be one) and the
/// headers are valid, too.
public struct TransportMessage: Hashable, Sendable {
    /// Where it is published: the name of the channel.
    public let subject: String
    /// What is said of the body; empty where the transport has none.
    public var headers: TransportHeaders
    /// The encoded message.
    public var body: [UInt8]

    /// Creates a message.
    ///
    /// - Throws: ``BridgeError/Code/invalidName`` where the subject is not a valid channel name.
    public init(subject: String, headers: TransportHeaders = [:], body: [UInt8]) throws {
        do {
            // Validated as any name; the type is of no account.
            self.init(valid: try ChannelName<Never>(validating: subject).text, headers: headers, body: body)
        } catch {
            throw BridgeError(.invalidName, subject: subject, underlyingError: error)
        }
    }

    /// For a subject that is the text of a channel name.
    package init(valid subject: String, headers: TransportHeaders, body: [UInt8]) {
        self.subject = subject
        self.headers = headers
        self.body = body
    }
}

/// The reply to a request.
public struct TransportReply: Hashable, Sendable {
    /// What is said of the body; empty where the transport has none.
    public var headers: TransportHeaders
    /// The encoded response.
    public var body: [UInt8]

    /// Creates a reply.
    public init(headers: TransportHeaders = [:], body: [UInt8]) {
        self.headers = headers
        self.body = body
    }
}

/// A message handed over by a transport.
public struct InboundMessage: Sendable {
    /// The message.
    public let message: TransportMessage
    /// How often the broker has delivered a durable message to this name, this time included; 1 for others.
    public let deliveryCount: Int
    /// Tells the broker what became of a durable message; nil where the message is not durable. To be called
    /// once, from any thread. Does not wait; where the connection has gone, the broker delivers the message
    /// again.
    public let settle: (@Sendable (Settlement) -> Void)?

    /// Creates a message to hand over.
    public init(_ message: TransportMessage, deliveryCount: Int = 1, settle: (@Sendable (Settlement) -> Void)? = nil) {
        self.message = message
        self.deliveryCount = deliveryCount
        self.settle = settle
    }
}

/// What became of a durable message.
public enum Settlement: Hashable, Sendable {
    /// Its listeners have run: the broker need not deliver it again.
    case acknowledged
    /// It is to be delivered again, not before this time has passed.
    case retry(after: Duration)
    /// It cannot be handled, now or later: the broker must not deliver it again.
    case terminated
}

/// A request handed over by a transport.
public struct InboundRequest: Sendable {
    /// The request.
    public let message: TransportMessage
    /// Sends the reply. To be called once, from any thread. Does not wait; where the connection has gone, the
    /// asker's time runs out.
    public let reply: @Sendable (TransportReply) -> Void

    /// Creates a request to hand over.
    public init(_ message: TransportMessage, reply: @escaping @Sendable (TransportReply) -> Void) {
        self.message = message
        self.reply = reply
    }
}

/// The last value of a subject, handed over by a transport.
public struct StoredValue: Sendable {
    /// The value.
    public let message: TransportMessage
    /// Higher for each value stored for the subject.
    public let revision: UInt64

    /// Creates a value to hand over.
    public init(_ message: TransportMessage, revision: UInt64) {
        self.message = message
        self.revision = revision
    }
}
