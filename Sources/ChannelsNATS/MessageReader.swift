#if NATS
import ChannelsBridge
import CNATS
import Foundation

/// Makes messages to hand over of those that came.
///
/// Only used by the thread of one subscription: the subject that was found valid last. Messages mostly follow
/// others of the same subject.
final class MessageReader: @unchecked Sendable {  // its one variable is touched by one thread alone
    private let pattern: String
    private let relay: EventRelay
    private var lastValid = ""

    init(_ pattern: String, _ relay: EventRelay) {
        self.pattern = pattern
        self.relay = relay
    }

    /// Reads what the C client received. Nil, and an event, where it cannot be a message.
    func read(_ message: OpaquePointer) -> TransportMessage? {
        guard let subject = natsMsg_GetSubject(message), let headers = NATSMessage.headers(of: message) else {
            return read(nil)
        }
        // Bytes, not characters: texts that are equal may differ in whether they are valid.
        guard !lastValid.isEmpty, lastValid.withCString({ strcmp($0, subject) == 0 }) else {
            return read(NATSMessage(message))
        }
        return read(lastValid, isValid: true, headers, NATSMessage.payload(of: message))
    }

    /// Nil, and an event, where it cannot be one.
    ///
    /// - Parameter subject: In place of the message's own.
    func read(_ message: NATSMessage?, subject: String? = nil) -> TransportMessage? {
        guard let message else {
            relay.report(
                BridgeError(.invalidEnvelope, subject: pattern, "a message came that is no text where it should be")
            )
            return nil
        }
        return read(subject ?? message.subject, isValid: false, message.headers, message.payload)
    }

    private func read(_ subject: String, isValid: Bool, _ headers: [NATSMessage.Header], _ payload: [UInt8])
        -> TransportMessage?
    {
        do {
            let headers = try NATSMessage.transportHeaders(headers)
            if isValid || subject.hasSameBytes(as: lastValid) {
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

extension NATSMessage {
    init(_ message: TransportMessage) {
        self.init(subject: message.subject, headers: Self.headers(message.headers), payload: message.body)
    }

    /// Without those that are empty: the C client of a receiver can read none of the headers where one has no
    /// value.
    static func headers(_ headers: TransportHeaders) -> [Header] {
        headers.isEmpty ? [] : headers.compactMap { $0.value.isEmpty ? nil : Header(name: $0.name, value: $0.value) }
    }

    var transportHeaders: TransportHeaders {
        get throws { try Self.transportHeaders(headers) }
    }

    /// The headers without those that NATS adds: they are about the way, not about the message.
    static func transportHeaders(_ fields: [Header]) throws -> TransportHeaders {
        var headers = TransportHeaders()
        // What is empty is looked at for each message.
        if fields.isEmpty { return headers }
        for field in fields where !field.name.hasPrefix("Nats-") {
            try headers.set(field.value.withoutSpacesAtEnds, for: field.name)
        }
        return headers
    }
}

extension String {
    /// Some clients leave spaces beside a header's value that are not part of it.
    fileprivate var withoutSpacesAtEnds: String {
        guard utf8.first == 0x20 || utf8.last == 0x20 else { return self }
        return String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
#endif
