internal import Channels

/// The headers of a dead letter at the broker, besides those of the message.
enum DeadLetterHeader {
    /// The subject of the message.
    static let subject = "dead-letter-subject"
    /// The durable name whose listeners it is for. In a message that was put back, too.
    static let name = "dead-letter-name"
    /// Why it is one.
    static let reason = "dead-letter-reason"
    /// The identifier of the message. Each letter has one of its own.
    static let id = "dead-letter-id"
}

extension BridgeContext {
    /// Publishes a dead letter of a durable name, and returns when the broker has stored it. Without
    /// ``BridgeConfiguration/deadLetters`` it does nothing.
    ///
    /// A letter has more headers than its message. If that makes it too large for the broker, it is published
    /// without those that only explain it.
    func keep(_ letter: DeadLetter, of durableName: String) async throws {
        guard let name = configuration.deadLetters else { return }
        let prefix = configuration.subject(of: name)
        let subject = letter.message.subject
        // One that cannot be handled is not kept again.
        guard !subject.utf8.starts(with: (prefix + ".").utf8) else { return }
        var headers = letter.message.headers
        headers.setValid(subject, for: DeadLetterHeader.subject)
        headers.setValid(durableName.percentEncoded, for: DeadLetterHeader.name)
        headers.setValid(String(letter.error.description.prefix(500)).percentEncoded, for: DeadLetterHeader.reason)
        if let id = headers[TransportHeaders.id] { headers.setValid(id, for: DeadLetterHeader.id) }
        headers.setValid(randomIdentifier(), for: TransportHeaders.id)
        let body = letter.message.body
        let keptSubject = "\(prefix).\(configuration.name(ofSubject: subject))"
        var kept = try TransportMessage(subject: keptSubject, headers: headers, body: body)
        do { try await transport.publish(kept, durable: true) } catch let error as BridgeError
            where error.code == .payloadTooLarge
        {
            headers.remove(DeadLetterHeader.reason)
            headers.remove(DeadLetterHeader.id)
            kept = TransportMessage(valid: kept.subject, headers: headers, body: body)
            try await transport.publish(kept, durable: true)
        }
    }
}
