#if NATS
import ChannelsBridge
import CNATS
import Foundation

/// A message as it travels: to be sent, or as it came.
struct NATSMessage: Sendable {
    struct Header: Sendable, Hashable {
        var name: String
        var value: String
    }

    var subject: String
    /// Where an answer, or an acknowledgement, is expected.
    var reply: String?
    var headers: [Header] = []
    var payload: [UInt8] = []

    /// The bytes it takes on the wire, nearly; what the limits count.
    var size: Int {
        var size = subject.utf8.count + (reply?.utf8.count ?? 0) + payload.count + 24
        for header in headers { size += header.name.utf8.count + header.value.utf8.count + 4 }
        return size
    }

    /// The bytes that the server compares with its `max_payload`.
    var sizeForServer: Int {
        guard !headers.isEmpty else { return payload.count }
        return headers.reduce(payload.count + 12) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }

    subscript(header name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// Throws unless everything but the payload can stand in a line of the protocol.
    func check() throws(BridgeError) {
        try WireRules.check(subject: subject)
        if let reply { try WireRules.check(subject: reply) }
        for header in headers { try WireRules.check(header: header.name, header.value) }
    }
}

extension NATSMessage {
    /// Copies what the C client received; nil where it is no text: a subject or a header that is not UTF-8, or headers that cannot be read.
    ///
    /// - Parameter last: The subject before. Messages mostly follow others of the same subject, and a comparison is cheaper than a new string.
    init?(_ message: OpaquePointer, last: inout String) {
        guard let text = natsMsg_GetSubject(message) else { return nil }
        if !last.withCString({ strcmp($0, text) == 0 }) {
            guard let subject = String(validatingCString: text) else { return nil }
            last = subject
        }
        subject = last
        if let text = natsMsg_GetReply(message) {
            guard let reply = String(validatingCString: text) else { return nil }
            self.reply = reply
        }
        guard let headers = Self.headers(of: message) else { return nil }
        self.headers = headers
        let count = Int(natsMsg_GetDataLength(message))
        if count > 0, let bytes = natsMsg_GetData(message) {
            payload = Array(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    private static func headers(of message: OpaquePointer) -> [Header]? {
        var names: UnsafeMutablePointer<UnsafePointer<CChar>?>?
        var count: Int32 = 0
        switch natsMsgHeader_Keys(message, &names, &count) {
        case NATS_OK: break
        case NATS_NOT_FOUND: return []
        default: return nil
        }
        defer { free(names) }
        var headers: [Header] = []
        headers.reserveCapacity(Int(count))
        for index in 0..<Int(count) {
            var value: UnsafePointer<CChar>?
            // The name belongs to the message, which lives until this callback returns.
            guard let name = names?[index], natsMsgHeader_Get(message, name, &value) == NATS_OK else { return nil }
            // A header without a value reads as null.
            guard let name = String(validatingCString: name), let text = value.map({ String(validatingCString: $0) }) ?? "" else { return nil }
            headers.append(Header(name: name, value: text))
        }
        return headers
    }
}
#endif
