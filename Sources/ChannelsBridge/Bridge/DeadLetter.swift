/// A message that came in and could not be delivered: no decoder understands it, it is of another type than
/// the channel, or its listeners failed as often as is allowed.
public struct DeadLetter: Sendable {
    /// The message as it came.
    public let message: TransportMessage
    /// Why.
    public let error: BridgeError
    /// How often it was delivered.
    public let deliveryCount: Int

    /// Creates a dead letter, for tests of what handles it.
    public init(message: TransportMessage, error: BridgeError, deliveryCount: Int = 1) {
        self.message = message
        self.error = error
        self.deliveryCount = deliveryCount
    }
}

/// What is called for every dead letter, before the broker is told to deliver it no more. Messages of the
/// same route wait for it.
public typealias DeadLetterHandler = @Sendable (DeadLetter) async -> Void
