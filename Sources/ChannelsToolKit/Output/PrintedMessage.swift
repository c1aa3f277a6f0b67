#if Tool
import ChannelsBridge
import Foundation

/// A message as people and programs read it.
struct PrintedMessage {
    /// The channel; nil if it is clear from the context.
    let channel: String?
    private let envelope: EventEnvelope
    private let headers: TransportHeaders
    private let data: Contents
    private let time: String

    /// The contents of a message: text that is not JSON becomes a JSON string.
    private enum Contents {
        case json(JSONText)
        case bytes([UInt8])
        case nothing
    }

    init(channel: String?, _ headers: TransportHeaders, _ body: [UInt8], storedAt: Timestamp? = nil) {
        self.channel = channel
        self.headers = headers
        // Anybody may write anything into the envelope. The message is printed in any case.
        if StructuredEvent.isContained(in: headers),
            let event = try? StructuredEvent.envelope(of: body, subject: channel ?? "")
        {
            envelope = event
            let encoded = StructuredEvent.encodedData(in: body, contentType: event.contentType)
            // Kept as it is written, so that numbers keep their digits.
            data = Self.data(of: encoded ?? JSONText(body)?["data"].map { Array($0) } ?? [])
        } else {
            envelope = (try? EventEnvelope(headers: headers, subject: channel ?? "")) ?? EventEnvelope()
            data = Self.data(of: body)
        }
        time = envelope.time ?? (storedAt ?? .now).text
    }

    private static func data(of body: [UInt8]) -> Contents {
        body.isEmpty ? .nothing : JSONText(body).map(Contents.json) ?? .bytes(body)
    }

    /// Why there is no response, in a reply.
    var error: String? { envelope.error }

    /// The message itself.
    var body: [UInt8] {
        switch data {
        case .json(let json): json.bytes
        case .bytes(let bytes): bytes
        case .nothing: []
        }
    }

    /// When the message was posted, if it says so.
    var postedTime: String? { envelope.time }

    /// The message as text or Base64, without anything that could control a terminal.
    var dataText: String {
        switch data {
        case .json(let json): return json.line
        case .bytes(let bytes):
            guard String(validating: bytes, as: UTF8.self) != nil else {
                return "base64 \(Data(bytes).base64EncodedString())"
            }
            // In bytes, because a carriage return and a line feed are one character.
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            return lines.map { line in
                String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self).escaped
            }
            .joined(separator: "\n")
        case .nothing: return ""
        }
    }

    /// The lines to print.
    func text(_ options: OutputOptions) -> String {
        if options.json {
            let object = object(withHeaders: options.headers)
            return options.pretty ? object.pretty : object.line
        }
        let data =
            switch data {
            case .json(let json): options.pretty ? json.pretty : json.line
            case .bytes(let bytes): JSONText(string: String(decoding: bytes, as: UTF8.self)).line
            case .nothing: "\"\""
            }
        let parts = [options.timestamps ? time.escaped : nil, channel?.escaped, data]
        let header = options.headers ? decodedHeaders.map { "\n  \($0.escaped): \($1.escaped)" }.joined() : ""
        return parts.compactMap { $0 }.joined(separator: " ") + header
    }

    /// The headers, with the percent-encoding of CloudEvents and of dead letters decoded.
    private var decodedHeaders: [(String, String)] {
        headers.map { header in
            let isEscaped =
                header.name.utf8.starts(with: "ce-".utf8) || header.name.utf8.starts(with: "dead-letter-".utf8)
            let decoded = isEscaped ? try? header.value.percentDecoded(header.name, channel ?? "") : nil
            return (header.name, decoded ?? header.value)
        }
    }

    func object(withHeaders: Bool) -> JSONText {
        var members: [(String, JSONText)] = []
        func add(_ name: String, _ value: String?) {
            if let value { members.append((name, JSONText(string: value))) }
        }
        add("channel", channel)
        add("time", time)
        add("id", envelope.id)
        add("source", envelope.source)
        add("type", envelope.type)
        if withHeaders {
            let values = Dictionary(decodedHeaders) { first, second in first + ", " + second }
            members.append(("headers", JSONText(encoding: values)))
        }
        switch data {
        case .json(let json): members.append(("data", json))
        case .bytes(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                add("data", text)
            } else {
                members.append(("data_base64", JSONText(encoding: Data(bytes))))
            }
        case .nothing: break
        }
        return JSONText(members: members)
    }
}
#endif
