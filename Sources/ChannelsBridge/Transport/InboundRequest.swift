/// A request received by a transport.
public struct InboundRequest: Sendable {
    /// The request.
    public let message: TransportMessage
    /// Sends the reply. Call it once, from any thread. It does not wait. If the connection is lost, the
    /// request times out.
    public let reply: @Sendable (TransportReply) -> Void

    /// Creates a request, for the author of a transport.
    public init(_ message: TransportMessage, reply: @escaping @Sendable (TransportReply) -> Void) {
        self.message = message
        self.reply = reply
    }
}
