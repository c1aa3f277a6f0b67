internal import Channels

/// A posted message that is to be published, and what was known when it was posted.
final class Departure: Sendable {
    let message: any Sendable
    let subject: String
    let number: UInt64
    let time: Timestamp
    let trace: TraceContext?
    /// The place that it takes up in the bridge.
    let charge: Charge
    /// How it ended: the listener of the route waits for that, and `postAndWait` for the listener.
    let result = FirstResult<Void>()

    init(_ message: any Sendable, to subject: String, number: UInt64, charge: Charge) {
        self.message = message
        self.subject = subject
        self.number = number
        self.charge = charge
        time = .now
        trace = TraceContext.current
    }

    /// The message for the transport.
    func pack(_ body: [UInt8], _ format: MessageFormat, _ context: BridgeContext) throws -> TransportMessage {
        let envelope = EventEnvelope(
            id: context.id(number),
            source: context.source,
            type: format.typeName,
            time: time.text,
            contentType: format.codec.contentType,
            trace: trace
        )
        return try context.pack(body, envelope, to: subject)
    }
}
