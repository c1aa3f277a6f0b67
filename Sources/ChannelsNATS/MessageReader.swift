#if NATS
import ChannelsBridge
import CNATS
import Channels
import Foundation

/// Converts received messages.
///
/// Only the thread of one subscription uses it. It remembers the last subject that it found valid, because
/// consecutive messages usually have the same subject.
final class MessageReader: @unchecked Sendable {  // only one thread uses its variable
    private let pattern: String
    private let relay: EventRelay
    // Unchecked, because one thread uses it, without nested accesses.
    @exclusivity(unchecked) private var lastValid = ""

    init(_ pattern: String, _ relay: EventRelay) {
        self.pattern = pattern
        self.relay = relay
    }

    /// Reads a message of the C client. If its subject is not valid, reports an event and returns nil.
    func read(_ message: OpaquePointer) -> TransportMessage? {
        let text = natsMsg_GetSubject(message)
        // Compared as bytes, because of two equal strings one may be valid and the other not.
        let isLast = text.map { text in lastValid.withCString { strcmp($0, text) == 0 } } ?? false
        let headers = ReceivedHeaders(of: message)
        let subject = isLast ? lastValid : text.map { String(cString: $0) } ?? ""
        do {
            return try read(subject, headers.fields, NATSMessage.payload(of: message), headers.problem)
        } catch {
            relay.report(error)
            return nil
        }
    }

    /// Converts a message, and reports headers that could not be read.
    ///
    /// - Parameters:
    ///   - subject: Replaces the subject of the message.
    ///   - place: Where the message is stored, for the report.
    /// - Throws: ``BridgeError/Code/invalidEnvelope`` if it has no valid subject.
    func read(
        _ message: NATSMessage,
        subject: String? = nil,
        storedAs place: String? = nil
    ) throws(BridgeError) -> TransportMessage {
        try read(subject ?? message.subject, message.headers, message.payload, message.problem, place)
    }

    private func read(
        _ subject: String,
        _ headers: [NATSMessage.Header],
        _ payload: [UInt8],
        _ problem: String?,
        _ place: String? = nil
    ) throws(BridgeError) -> TransportMessage {
        let headers = NATSMessage.transportHeaders(headers)
        let message: TransportMessage
        if !lastValid.isEmpty, subject.hasSameBytes(as: lastValid) {
            message = TransportMessage(valid: subject, headers: headers, body: payload)
        } else {
            do { message = try TransportMessage(subject: subject, headers: headers, body: payload) } catch {
                let detail =
                    "\(place.map { "\($0): " } ?? "")its subject \(quoted(subject.singleLine)) is no channel name"
                throw BridgeError(.invalidEnvelope, subject: pattern, detail)
            }
            lastValid = subject
        }
        if let problem {
            relay.report(BridgeError(.invalidHeader, subject: subject, "\(place ?? "a message"): \(problem)"))
        }
        return message
    }

    /// Converts a durable message. If its subject is not valid, also returns the error with which it becomes
    /// a dead letter.
    func read(_ message: NATSMessage, _ delivery: Delivery) -> (TransportMessage, BridgeError?) {
        let place = "message \(delivery.streamSequence) of its stream"
        do { return (try read(message, storedAs: place), nil) } catch { return (substitute(for: message), error) }
    }

    /// Creates the message that becomes the dead letter of one without a valid subject.
    private func substitute(for message: NATSMessage) -> TransportMessage {
        let literal = pattern.utf8.split(separator: UInt8(ascii: ".")).prefix {
            !$0.elementsEqual("*".utf8) && !$0.elementsEqual(">".utf8)
        }
        return TransportMessage(
            valid: (literal.map { String(Substring($0)) } + ["unreadable"]).joined(separator: "."),
            headers: NATSMessage.transportHeaders(message.headers),
            body: message.payload
        )
    }
}

/// A `TransportMessage` is valid by construction, so it can be sent as it is.
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
    /// recognizes it.
    init(identified message: TransportMessage) {
        self.init(message)
        identifier = message.headers[TransportHeaders.id] ?? randomIdentifier()
    }

    /// Returns the headers without empty ones, because the receiver's C client cannot read any header if one
    /// has no value.
    static func headers(_ headers: TransportHeaders) -> [Header] {
        let fields = headers.fields
        return fields.contains { $0.value.isEmpty } ? fields.filter { !$0.value.isEmpty } : fields
    }

    /// Returns the headers without those that NATS adds, which describe the delivery and not the message. If
    /// several have one name, the first is kept.
    static func transportHeaders(_ fields: [Header]) -> TransportHeaders {
        // Messages without headers are common.
        if fields.isEmpty { return TransportHeaders() }
        var headers = TransportHeaders(capacity: fields.count)
        // `ReceivedHeaders` has made them valid.
        for field in fields where !field.name.utf8.starts(with: "Nats-".utf8) && headers[field.name] == nil {
            headers.append(valid: field.value, for: field.name)
        }
        return headers
    }
}
#endif
