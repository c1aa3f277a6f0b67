internal import Channels

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The structured mode of CloudEvents: attributes and message in one JSON object. Other clients may send it;
/// a bridge does not.
///
/// See [JSON event format](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
package enum StructuredEvent {
    private static let contentType = "application/cloudevents+json"
    /// The content type of a message whose event declares none.
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
            let event = try JSONCodec().decode(Event.self, from: bytes)
            var envelope = try JSONCodec().decode(EventEnvelope.self, from: bytes)
            try EventEnvelope.checkVersion(event.specversion, subject)
            envelope.trace = try event.traceparent.map {
                try TraceContext(traceparent: $0, tracestate: event.tracestate)
            }
            return envelope
        } catch let error as BridgeError {
            throw error
        } catch {
            let detail = "not a CloudEvent in JSON"
            throw BridgeError(.invalidEnvelope, subject: subject, detail: detail, underlyingError: error)
        }
    }

    /// Decodes the message in a JSON object with a codec that reads the content type of the event.
    ///
    /// - Throws: The error of the codec, or a decoding error if there is no message.
    static func decode<Message: Decodable>(
        _ type: Message.Type,
        from bytes: [UInt8],
        contentType: String?,
        _ codec: any Codec
    ) throws -> Message {
        if let bytes = encodedData(in: bytes, contentType: contentType) { return try codec.decode(type, from: bytes) }
        // A codec that reads JSON can also read the object around the message.
        return try codec.decode(WithData<Message>.self, from: bytes).data
    }

    /// The message if it is not part of the JSON itself, but Base64 or the text of another format.
    package static func encodedData(in bytes: [UInt8], contentType: String?) -> [UInt8]? {
        if let data = try? JSONCodec().decode(WithBase64.self, from: bytes).data_base64 { return Array(data) }
        guard !MediaType(contentType ?? defaultContentType).isJSON else { return nil }
        return (try? JSONCodec().decode(WithData<String>.self, from: bytes)).map { Array($0.data.utf8) }
    }

    // These decode what the envelope does not. Their members are named as in the standard.
    private struct Event: Decodable {
        let specversion: String
        let traceparent: String?
        let tracestate: String?
    }

    private struct WithData<Message: Decodable>: Decodable { var data: Message }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    private struct WithBase64: Decodable { var data_base64: Data? }
}
