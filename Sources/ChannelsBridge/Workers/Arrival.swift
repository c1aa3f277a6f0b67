internal import Channels

/// A received message whose envelope has been read.
struct Arrival: Sendable {
    let subject: String
    let envelope: EventEnvelope
    /// What listeners can find out about how it arrived.
    var delivery: RemoteDelivery?
    private let body: [UInt8]
    private let isStructured: Bool

    /// - Throws: ``BridgeError/Code/invalidEnvelope``.
    init(headers: TransportHeaders, body: [UInt8], subject: String) throws {
        self.subject = subject
        self.body = body
        isStructured = StructuredEvent.isContained(in: headers)
        envelope =
            isStructured
            ? try StructuredEvent.envelope(of: body, subject: subject)
            : try EventEnvelope(headers: headers, subject: subject)
        // A message without any attribute is not an event. Another client may have published it.
        guard isStructured || headers[EventEnvelope.Header.version] != nil, envelope.error == nil else { return }
        if let problem = envelope.problem {
            throw BridgeError(.invalidEnvelope, subject: subject, detail: "a CloudEvent \(problem)")
        }
    }

    /// The origin that listeners see.
    var origin: MessageOrigin { .remote(envelope.source ?? "unknown") }

    /// Identifies the message by its subject, source and identifier; nil if the envelope has no identifier.
    var identity: MessageKey? {
        envelope.id.map { MessageKey(subject, envelope.source ?? "", $0) }
    }

    /// Decodes the message.
    ///
    /// A message that declares no type, or the name of the channel as its type, has the type that the channel
    /// carries.
    ///
    /// - Throws: ``BridgeError/Code/unknownType`` if it declares another type;
    ///   ``BridgeError/Code/undecodable``, also if it declares a content type that the codec does not read.
    func decode<Message: Decodable>(_ type: Message.Type, _ format: MessageFormat) throws -> Message {
        let (typeName, codec) = (format.typeName, format.codec)
        if let found = envelope.type, !found.hasBytes(of: typeName), !found.hasBytes(of: subject) {
            let detail = "it has type \(quoted(found)), but the channel carries \(quoted(typeName))"
            throw BridgeError(.unknownType, subject: subject, detail: detail)
        }
        let contentType = envelope.contentType ?? (isStructured ? StructuredEvent.defaultContentType : nil)
        if let contentType, !codec.reads(MediaType(contentType)) {
            let detail = "its content type is \(quoted(contentType)), but the route reads \(quoted(codec.contentType))"
            throw BridgeError(.undecodable, subject: subject, detail: detail)
        }
        do {
            guard isStructured else { return try codec.decode(type, from: body) }
            return try StructuredEvent.decode(type, from: body, contentType: contentType, codec)
        } catch {
            throw BridgeError(.undecodable, subject: subject, detail: "as \(Message.self)", underlyingError: error)
        }
    }
}
