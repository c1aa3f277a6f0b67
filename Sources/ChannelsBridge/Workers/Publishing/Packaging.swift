/// Converts the messages of one route for the transport. Parts that all of them share are created once.
struct Packaging: Sendable {
    typealias Encode = @Sendable (_ message: any Sendable, _ subject: String) throws -> [UInt8]

    private let context: BridgeContext
    private let encode: Encode
    /// The attributes that all messages have in common.
    private let headers: TransportHeaders

    init(_ context: BridgeContext, _ format: MessageFormat, _ encode: @escaping Encode) {
        self.context = context
        self.encode = encode
        headers =
            EventEnvelope(source: context.source, type: format.typeName, contentType: format.codec.contentType).headers
    }

    /// Converts a message for the transport. Runs the codec.
    func pack(_ departure: Departure) throws -> TransportMessage {
        let body = try encode(departure.message, departure.subject)
        var headers = headers.reserving(more: EventEnvelope.mostHeadersOfOne)
        // These need no percent-encoding, and no other header has their names.
        headers.append(valid: randomIdentifier(), for: EventEnvelope.Header.id)
        headers.append(valid: departure.time.text, for: EventEnvelope.Header.time)
        if let trace = departure.trace { trace.add(to: &headers) }
        return try context.message(body, headers, to: departure.subject)
    }
}
