#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The structured mode of CloudEvents: attributes and message in one JSON object.
package enum StructuredEvent {
    package static let contentType = "application/cloudevents+json"

    /// Whether headers declare the structured mode.
    package static func isContained(in headers: TransportHeaders) -> Bool {
        headers[TransportHeaders.contentType]?.lowercased().hasPrefix(contentType) ?? false
    }

    // MARK: Writing

    /// The JSON object of a message.
    package static func encode(_ envelope: EventEnvelope, body: [UInt8]) throws -> [UInt8] {
        var attributes = Attributes(specversion: EventEnvelope.version)
        attributes.id = envelope.id
        attributes.source = envelope.source
        attributes.type = envelope.type
        attributes.time = envelope.time
        attributes.datacontenttype = envelope.contentType
        attributes.traceparent = envelope.trace?.traceparent
        attributes.tracestate = envelope.trace?.tracestate
        attributes.channelserror = envelope.error
        guard isJSON(envelope.contentType) else {
            attributes.data_base64 = Data(body)
            return Array(try JSONEncoder().encode(attributes))
        }
        var bytes = Array(try JSONEncoder().encode(attributes))
        guard !body.isEmpty else { return bytes }
        // The message is JSON: it becomes the last member of the object.
        bytes.removeLast()
        bytes += Array(",\"data\":".utf8) + body + [UInt8(ascii: "}")]
        return bytes
    }

    // MARK: Reading

    /// The attributes of a JSON object.
    ///
    /// - Throws: ``BridgeError/Code/invalidEnvelope``.
    package static func envelope(of bytes: [UInt8], subject: String) throws -> EventEnvelope {
        do {
            let attributes = try JSONDecoder().decode(Attributes.self, from: Data(bytes))
            guard EventEnvelope.isSupported(attributes.specversion) else {
                throw BridgeError(
                    .invalidEnvelope,
                    subject: subject,
                    detail: "CloudEvents version \(attributes.specversion.prefix(20))"
                )
            }
            return EventEnvelope(
                id: attributes.id,
                source: attributes.source,
                type: attributes.type,
                time: attributes.time,
                contentType: attributes.datacontenttype,
                trace: try attributes.traceparent.map {
                    try TraceContext(traceparent: $0, tracestate: attributes.tracestate)
                },
                error: attributes.channelserror
            )
        } catch let error as BridgeError {
            throw error
        } catch {
            throw BridgeError(
                .invalidEnvelope,
                subject: subject,
                detail: "not a CloudEvent in JSON",
                underlyingError: error
            )
        }
    }

    /// The message in a JSON object.
    static func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8], with codec: some Codec) throws
        -> Message
    {
        let encoded = try JSONDecoder().decode(Encoded.self, from: Data(bytes))
        if let data = encoded.data_base64 { return try codec.decode(type, from: Array(data)) }
        return try JSONDecoder().decode(Plain<Message>.self, from: Data(bytes)).data
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        guard let type = contentType?.lowercased().prefix(while: { $0 != ";" }) else { return true }
        return type == "application/json" || type.hasSuffix("+json") || type == "text/json"
    }

    // The names are those of the standard.
    private struct Attributes: Codable {
        var specversion: String
        var id: String?
        var source: String?
        var type: String?
        var time: String?
        var datacontenttype: String?
        var traceparent: String?
        var tracestate: String?
        var channelserror: String?
        // swift-format-ignore: AlwaysUseLowerCamelCase
        var data_base64: Data?
    }

    private struct Encoded: Decodable {
        // swift-format-ignore: AlwaysUseLowerCamelCase
        var data_base64: Data?
    }

    private struct Plain<Message: Decodable>: Decodable {
        let data: Message
    }
}
