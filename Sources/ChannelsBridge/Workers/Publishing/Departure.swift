internal import Channels

/// A posted message that is to be published, and what was known when it was posted.
final class Departure: @unchecked Sendable {  // what changes is touched with the lock of its sender held
    /// What has become of it.
    enum End {
        case sent
        case failed(BridgeError)
    }

    let message: any Sendable
    let subject: String
    let number: UInt64
    let time: Timestamp
    let trace: TraceContext?
    /// The place that it takes up in the bridge.
    let charge: Charge
    /// Nil as long as it is on its way. The listener of the route waits for that, and `postAndWait` for the listener.
    /// Guarded by the lock of its sender.
    var end: End?

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
