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
