internal import Channels

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The structured mode of CloudEvents: attributes and message in one JSON object. Clients of other libraries may send
/// it; a bridge does not.
///
/// See [JSON event format](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
package enum StructuredEvent {
    private static let contentType = "application/cloudevents+json"
    /// Of a message whose event does not declare another one.
    static let defaultContentType = "application/json"

    /// Whether headers declare the structured mode.
    package static func isContained(in headers: TransportHeaders) -> Bool {
        headers[TransportHeaders.contentType].map { MediaType($0) == MediaType(contentType) } ?? false
    }

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
                    detail: "CloudEvents version \(quoted(attributes.specversion))"
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

    /// Decodes the message in a JSON object with a codec, which reads the content type of the event.
    ///
    /// - Throws: What the codec throws, and an error of decoding if there is no message.
    static func decode<Message: Decodable>(
        _ type: Message.Type,
        from bytes: [UInt8],
        contentType: String?,
        _ codec: any Codec
    ) throws -> Message {
        if let bytes = encodedData(in: bytes, contentType: contentType) { return try codec.decode(type, from: bytes) }
        // The codec reads JSON, and so also the object around the message.
        return try codec.decode(WithData<Message>.self, from: bytes).data
    }

    /// The message where it is not a part of the JSON: Base64, or the text of another format.
    package static func encodedData(in bytes: [UInt8], contentType: String?) -> [UInt8]? {
        if let data = try? JSONDecoder().decode(WithBase64.self, from: Data(bytes)).data_base64 { return Array(data) }
        guard !MediaType(contentType ?? defaultContentType).isJSON else { return nil }
        return (try? JSONDecoder().decode(WithData<String>.self, from: Data(bytes))).map { Array($0.data.utf8) }
    }

    // The names of the members are those of the standard.
    private struct Attributes: Decodable {
        var specversion: String
        var id: String?
        var source: String?
        var type: String?
        var time: String?
        var datacontenttype: String?
        var traceparent: String?
        var tracestate: String?
        var channelserror: String?
    }

    private struct WithData<Message: Decodable>: Decodable { var data: Message }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    private struct WithBase64: Decodable { var data_base64: Data? }
}
