#if NATS
import ChannelsBridge

/// Makes messages to hand over of those that came.
///
/// Only used by the thread of one subscription: the subject that was found valid last.
final class MessageReader: @unchecked Sendable {  // its one variable is touched by one thread alone
    private let pattern: String
    private let relay: EventRelay
    private var lastValid: String?

    init(_ pattern: String, _ relay: EventRelay) {
        self.pattern = pattern
        self.relay = relay
    }

    /// Nil, and an event, where it cannot be one.
    ///
    /// - Parameter subject: In place of the message's own.
    func read(_ message: NATSMessage?, subject: String? = nil) -> TransportMessage? {
        guard let message else {
            relay.report(BridgeError(.invalidEnvelope, subject: pattern, "a message came that is no text where it should be"))
            return nil
        }
        do {
            let subject = subject ?? message.subject
            let headers = try message.transportHeaders
            // Messages mostly follow others of the same subject.
            if subject == lastValid { return TransportMessage(valid: subject, headers: headers, body: message.payload) }
            let read = try TransportMessage(subject: subject, headers: headers, body: message.payload)
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

    /// Without those that are empty: the C client of a receiver can read none of the headers where one has no value.
    static func headers(_ headers: TransportHeaders) -> [Header] {
        headers.compactMap { $0.value.isEmpty ? nil : Header(name: $0.name, value: $0.value) }
    }

    /// The headers without those that NATS adds: they are about the way, not about the message.
    var transportHeaders: TransportHeaders {
        get throws {
            var headers = TransportHeaders()
            for header in self.headers where !header.name.hasPrefix("Nats-") { try headers.set(header.value, for: header.name) }
            return headers
        }
    }
}
#endif
