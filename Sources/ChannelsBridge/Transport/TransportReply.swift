internal import Channels

/// The reply to a request.
public struct TransportReply: Hashable, Sendable {
    /// The headers.
    public var headers: TransportHeaders
    /// The encoded response.
    public var body: [UInt8]

    /// Creates a reply.
    public init(headers: TransportHeaders = [:], body: [UInt8]) {
        self.headers = headers
        self.body = body
    }
}

extension TransportReply: CustomStringConvertible {
    /// One line: the number of headers, and the body, as text if it is text.
    public var description: String { "\(counted(headers.count, "header")), \(body.described)" }
}
