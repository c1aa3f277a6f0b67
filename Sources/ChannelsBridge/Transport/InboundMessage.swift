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
