public import Channels

/// An incoming message that cannot be delivered: it cannot be decoded, its type is not the channel's, its
/// listeners failed too often, or the broker delivered it too often.
public struct DeadLetter: Sendable {
    /// The received message.
    public let message: TransportMessage
    /// Why it cannot be delivered.
    public let error: BridgeError
    /// How often the message was delivered, by the broker's count.
    public let deliveryCount: Int

    /// Creates a dead letter, for tests of a handler.
    public init(message: TransportMessage, error: BridgeError, deliveryCount: Int = 1) {
        self.message = message
        self.error = error
        self.deliveryCount = deliveryCount
    }
}

extension DeadLetter {
    /// The message's identifier, time and delivery count; nil if its attributes cannot be read.
    public var delivery: RemoteDelivery? {
        guard
            let arrival = try? Arrival(headers: message.headers, body: message.body, subject: message.subject)
        else { return nil }
        let inbound = InboundMessage(message, deliveryCount: deliveryCount) { _ in }
        return inbound.delivery(of: arrival.envelope)
    }
}

extension DeadLetter: CustomStringConvertible {
    /// One line: the channel, the body (as text if it is text), and why the message cannot be delivered.
    public var description: String {
        "dead letter on \(message), delivered \(counted(deliveryCount, "time")): \(error)"
    }
}

/// Called for every dead letter, before the message is terminated at the broker.
///
/// Later messages of the route wait until it returns.
public typealias DeadLetterHandler = @Sendable (DeadLetter) async -> Void
