/// A message received by a transport.
public struct InboundMessage: Sendable {
    /// The message.
    public let message: TransportMessage
    /// How often the broker has delivered a durable message to this name, including this time; 1 for messages
    /// that are not durable.
    public let deliveryCount: Int
    /// Settles a durable message; nil if the message is not durable. Call it once, from any thread. It does
    /// not wait. If the connection is lost, the broker delivers the message again.
    public let settle: (@Sendable (Settlement) -> Void)?

    /// Creates a message, for the author of a transport.
    public init(_ message: TransportMessage, deliveryCount: Int = 1, settle: (@Sendable (Settlement) -> Void)? = nil) {
        self.message = message
        self.deliveryCount = deliveryCount
        self.settle = settle
    }
}
