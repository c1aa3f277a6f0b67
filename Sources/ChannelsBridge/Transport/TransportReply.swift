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
