internal import Channels

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The structured mode of CloudEvents: attributes and message in one JSON object.
package enum StructuredEvent {
    package static let contentType = "application/cloudevents+json"
    /// Of a message whose event does not declare another one.
    static let defaultContentType = "application/json"

    /// Whether headers declare the structured mode.
    package static func isContained(in headers: TransportHeaders) -> Bool {
        headers[TransportHeaders.contentType].map { MediaType($0) == MediaType(contentType) } ?? false
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
        guard MediaType(envelope.contentType ?? defaultContentType).isJSON else {
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

    /// The message in a JSON object, in the encoding that the event declares; empty if there is none.
    ///
    /// It is taken as it is written, and not decoded and encoded again: numbers keep their digits.
    package static func data(in bytes: [UInt8], contentType: String?) -> [UInt8] {
        guard let event = JSONText(bytes) else { return [] }
        if let encoded = event["data_base64"], let data = try? JSONDecoder().decode(Data.self, from: Data(encoded)) {
            return Array(data)
        }
        guard let data = event["data"] else { return [] }
        // A text of another format is a string of JSON.
        if !MediaType(contentType ?? defaultContentType).isJSON,
            let text = try? JSONDecoder().decode(String.self, from: Data(data))
        {
            return Array(text.utf8)
        }
        return Array(data)
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
}
