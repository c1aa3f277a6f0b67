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
