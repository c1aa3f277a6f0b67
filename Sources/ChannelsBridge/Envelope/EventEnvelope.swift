internal import Channels

/// The context attributes of CloudEvents 1.0: the identifier, source, type and time of a message.
package struct EventEnvelope: Hashable, Decodable, Sendable {
    /// The headers of the binary mode.
    package enum Header {
        package static let id = TransportHeaders.id
        package static let source = "ce-source"
        package static let type = "ce-type"
        package static let version = "ce-specversion"
        package static let time = "ce-time"
        /// An extension attribute of replies: why there is no response.
        package static let error = "ce-channelserror"
        /// An extension attribute of states: nobody has set the value.
        package static let initial = "ce-channelsinitial"
        package static let traceparent = "traceparent"
        package static let tracestate = "tracestate"
    }

    package static let version = "1.0"

    /// Unique among the messages of the source.
    package var id: String?
    /// The bridge that sent the message.
    package var source: String?
    package var type: String?
    /// When it was posted.
    package var time: String?
    /// The media type of the body.
    package var contentType: String?
    package var trace: TraceContext?
    /// Why there is no response, in a reply.
    package var error: String?

    /// The names of the attributes in the structured mode, which adds those of the trace.
    private enum CodingKeys: String, CodingKey {
        case id, source, type, time
        case contentType = "datacontenttype"
        case error = "channelserror"
    }

    package init(
        id: String? = nil,
        source: String? = nil,
        type: String? = nil,
        time: String? = nil,
        contentType: String? = nil,
        trace: TraceContext? = nil,
        error: String? = nil
    ) {
        self.id = id
        self.source = source
        self.type = type
        self.time = time
        self.contentType = contentType
        self.trace = trace
        self.error = error
    }

    // MARK: Binary mode

    /// How many headers may differ among the messages of a route: the identifier, the time and two for the
    /// trace.
    static let mostHeadersOfOne = 4

    /// The attributes as headers.
    package var headers: TransportHeaders {
        var headers = TransportHeaders(capacity: 9)
        // These are valid, because they are percent-encoded or were validated when they were created, and no
        // two have the same name.
        headers.append(valid: Self.version, for: Header.version)
        if let id { headers.append(valid: id.percentEncoded, for: Header.id) }
        if let source { headers.append(valid: source.percentEncoded, for: Header.source) }
        if let type { headers.append(valid: type.percentEncoded, for: Header.type) }
        if let time { headers.append(valid: time.percentEncoded, for: Header.time) }
        if let error { headers.append(valid: error.percentEncoded, for: Header.error) }
        // If a codec's media type is not a valid header, the message has no content type.
        if let contentType { try? headers.set(contentType, for: TransportHeaders.contentType) }
        if let trace { trace.add(to: &headers) }
        return headers
    }

    /// Reads the attributes from headers. Every attribute may be nil if the message was not sent by a bridge.
    ///
    /// - Throws: ``BridgeError/Code/invalidEnvelope``.
    package init(headers: TransportHeaders, subject: String) throws {
        for field in headers.fields {
            let value = field.value
            switch field.name.inLowercase {
            case Header.version: try Self.checkVersion(value, subject)
            case Header.id: id = try value.percentDecoded(Header.id, subject)
            case Header.source: source = try value.percentDecoded(Header.source, subject)
            case Header.type: type = try value.percentDecoded(Header.type, subject)
            case Header.time: time = try value.percentDecoded(Header.time, subject)
            case Header.error: error = try value.percentDecoded(Header.error, subject)
            case TransportHeaders.contentType: contentType = value
            case Header.traceparent: trace = TraceContext(valid: value, headers[Header.tracestate])
            default: break
            }
        }
    }

    /// Why the attributes are not those of an event. A missing type is no error: it is that of the channel.
    var problem: String? {
        if let time, Timestamp(time) == nil { return "with the time \(quoted(time)), which RFC 3339 does not allow" }
        return [("id", id), ("source", source)].first { ($0.1 ?? "").isEmpty }.map { "without \($0.0)" }
    }

    static func checkVersion(_ version: String, _ subject: String) throws {
        guard version == "1" || version.utf8.starts(with: "1.".utf8) else {
            throw BridgeError(.invalidEnvelope, subject: subject, detail: "CloudEvents version \(quoted(version))")
        }
    }
}

extension String {
    /// The text in lowercase. Usually it already is, which is faster to check than to convert.
    fileprivate var inLowercase: String {
        let isLowercase = utf8.allSatisfy { $0 < 0x80 && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        return isLowercase ? self : lowercased()
    }
}
