#if NATS
import ChannelsBridge
import CNATS
import Channels
import Foundation

/// Converts received messages.
///
/// Only used by the thread of one subscription: the last subject that was found valid. Consecutive messages
/// usually have the same subject.
final class MessageReader: @unchecked Sendable {  // its one variable is touched by one thread alone
    private let pattern: String
    private let relay: EventRelay
    // Unchecked, because that thread is inside one access at a time.
    @exclusivity(unchecked) private var lastValid = ""

    init(_ pattern: String, _ relay: EventRelay) {
        self.pattern = pattern
        self.relay = relay
    }

    /// Reads a message of the C client. Returns nil and reports an event if it is not valid.
    func read(_ message: OpaquePointer) -> TransportMessage? {
        guard let text = natsMsg_GetSubject(message), let headers = NATSMessage.headers(of: message),
            // Bytes, not characters: texts that are equal may differ in whether they are valid.
            let subject = lastValid.withCString({ strcmp($0, text) == 0 })
                ? lastValid : String(validatingCString: text)
        else {
            report(message)
            return nil
        }
        return read(subject, headers, NATSMessage.payload(of: message))
    }

    /// Converts a message. Returns nil and reports an event if it is not valid.
    ///
    /// - Parameter subject: Replaces the subject of the message.
    func read(_ message: NATSMessage, subject: String? = nil) -> TransportMessage? {
        read(subject ?? message.subject, message.headers, message.payload)
    }

    /// Reports a message that cannot be read.
    func report(_ message: OpaquePointer) {
        relay.report(BridgeError(.invalidEnvelope, subject: pattern, NATSMessage.problem(of: message)))
    }

    private func read(_ subject: String, _ headers: [NATSMessage.Header], _ payload: [UInt8])
        -> TransportMessage?
    {
        do {
            let headers = try NATSMessage.transportHeaders(headers)
            if !lastValid.isEmpty, subject.hasSameBytes(as: lastValid) {
                return TransportMessage(valid: subject, headers: headers, body: payload)
            }
            let read = try TransportMessage(subject: subject, headers: headers, body: payload)
            lastValid = subject
            return read
        } catch {
            relay.report(BridgeError(wrapping: error))
            return nil
        }
    }
}

/// It is valid by construction.
extension TransportMessage: OutgoingMessage {
    var reply: String? { nil }
    var fields: [NATSMessage.Header] { NATSMessage.headers(headers) }
    var identifier: String? { nil }
    var payload: [UInt8] { body }
    var isBoundToConnection: Bool { false }

    func checkBesidesSubject() {}
}

extension NATSMessage {
    init(_ message: TransportMessage) {
        self.init(subject: message.subject, headers: Self.headers(message.headers), payload: message.body)
        isChecked = true
    }

    /// Creates a durable message, with the identifier of the message or a random one, by which a stream
    /// recognises it.
    init(identified message: TransportMessage) {
        self.init(message)
        identifier = message.headers[TransportHeaders.id] ?? randomIdentifier()
    }

    /// The headers without empty ones: the receiver's C client cannot read any header if one has no value.
    static func headers(_ headers: TransportHeaders) -> [Header] {
        let fields = headers.fields
        return fields.contains { $0.value.isEmpty } ? fields.filter { !$0.value.isEmpty } : fields
    }

    /// The headers without those that NATS adds, which describe the delivery and not the message.
    static func transportHeaders(_ fields: [Header]) throws -> TransportHeaders {
        // Messages without headers are common.
        if fields.isEmpty { return TransportHeaders() }
        var headers = TransportHeaders(capacity: fields.count)
        for field in fields where !field.name.hasPrefix("Nats-") {
            try headers.set(field.value.withoutSpacesAtEnds, for: field.name)
        }
        return headers
    }
}

extension String {
    /// The value of a header without surrounding spaces, which some clients add.
    fileprivate var withoutSpacesAtEnds: String {
        guard utf8.first == 0x20 || utf8.last == 0x20 else { return self }
        return String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
#endif
