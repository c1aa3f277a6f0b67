/// Makes messages for the transport of those of one route. What is the same in all of them is made once.
struct Packaging: Sendable {
    private let context: BridgeContext
    private let encode: EncodeMessage
    /// The attributes that all have in common, and the same as headers.
    private let common: EventEnvelope
    private let headers: TransportHeaders
    private let hasHeaders: Bool

    init(_ context: BridgeContext, _ format: MessageFormat, _ encode: @escaping EncodeMessage) {
        self.context = context
        self.encode = encode
        common = EventEnvelope(
            source: context.source,
            type: format.typeName,
            contentType: format.codec.contentType
        )
        headers = common.headers
        hasHeaders = context.transport.capabilities.contains(.headers)
    }

    /// The message for the transport. Runs the codec.
    func pack(_ departure: Departure) throws -> TransportMessage {
        let body = try encode(departure.message, departure.subject)
        let id = randomIdentifier()
        guard hasHeaders else {
            var envelope = common
            (envelope.id, envelope.time, envelope.trace) = (id, departure.time.text, departure.trace)
            return try context.pack(body, envelope, to: departure.subject)
        }
        var headers = headers.reserving(more: EventEnvelope.mostHeadersOfOne)
        // These need no encoding, and the others have other names.
        headers.append(valid: id, for: EventEnvelope.Header.id)
        headers.append(valid: departure.time.text, for: EventEnvelope.Header.time)
        if let trace = departure.trace { trace.add(to: &headers) }
        return try context.message(body, headers, to: departure.subject)
    }
}
