#if NATS
import ChannelsBridge
import CNATS
import Foundation

/// A message to be sent.
///
/// `TransportMessage` conforms as well. Nearly all messages are sent without being converted, because
/// converting counts references to the parts of each once more, which was a sixth of the caller's cost of
/// sending.
protocol OutgoingMessage {
    var subject: String { get }
    /// The subject for a reply or an acknowledgement.
    var reply: String? { get }
    /// The headers without the identifier.
    var fields: [NATSMessage.Header] { get }
    /// The value of the header `Nats-Msg-Id`, by which a stream recognizes a message.
    var identifier: String? { get }
    var payload: [UInt8] { get }
    /// Whether it must not be sent on a later connection, because by then it is obsolete or is published
    /// again in order.
    var isBoundToConnection: Bool { get }
    /// The ``Outbox/epoch`` of the connection to which it is bound; nil for the current connection.
    var epoch: Int? { get }

    /// Throws unless the reply subject and the headers are valid.
    func checkBesidesSubject() throws(BridgeError)
}

extension OutgoingMessage {
    var epoch: Int? { nil }

    /// The bytes that the server compares with its `max_payload`.
    var sizeForServer: Int {
        let fields = fields
        guard !fields.isEmpty || identifier != nil else { return payload.count }
        let size = fields.reduce(payload.count + 12) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        return identifier.map { size + NATSMessage.identifierHeader.utf8.count + $0.utf8.count + 4 } ?? size
    }
}

/// A message to be sent, or one that was received.
struct NATSMessage: OutgoingMessage, Hashable, Sendable {
    typealias Header = TransportHeaders.Field

    var subject: String
    var reply: String?
    var headers: [Header] = []
    var identifier: String?
    var payload: [UInt8] = []
    var isBoundToConnection = false
    var epoch: Int?
    /// Whether the reply subject and the headers are known to be valid, as those of a `TransportMessage` are.
    var isChecked = false
    /// What could not be read of a received message, and is left out.
    var problem: String?

    static let identifierHeader = "Nats-Msg-Id"

    var fields: [Header] { headers }

    subscript(header name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// Whether it stands for a message that the server has removed, because of its age or at somebody's request.
    var isMarker: Bool { self[header: "Nats-Marker-Reason"] != nil }

    func checkBesidesSubject() throws(BridgeError) {
        if isChecked { return }
        if let reply { try WireRules.check(subject: reply) }
        for header in headers { try TransportHeaders.check(header.value, for: header.name) }
        if let identifier { try TransportHeaders.check(identifier, for: Self.identifierHeader) }
    }
}

extension NATSMessage {
    /// Copies a message of the C client. Bytes of the subject that are not UTF-8 are replaced.
    init(_ message: OpaquePointer) {
        let headers = ReceivedHeaders(of: message)
        self.init(
            subject: natsMsg_GetSubject(message).map { String(cString: $0) } ?? "",
            reply: Self.reply(of: message),
            headers: headers.fields,
            payload: Self.payload(of: message)
        )
        problem = headers.problem
    }

    /// The reply subject of a message of the C client, even if its headers cannot be read; nil if it is not
    /// UTF-8.
    static func reply(of message: OpaquePointer) -> String? {
        natsMsg_GetReply(message).flatMap { String(validatingCString: $0) }
    }

    /// The payload of a message of the C client, valid as long as the message.
    static func bytes(of message: OpaquePointer) -> UnsafeRawBufferPointer {
        let count = Int(natsMsg_GetDataLength(message))
        return UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: max(count, 0))
    }

    /// Copies the payload of a message of the C client.
    static func payload(of message: OpaquePointer) -> [UInt8] {
        // This costs half as much as an array that a closure fills.
        Array(bytes(of: message))
    }
}
#endif
