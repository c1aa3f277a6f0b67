internal import Channels

/// The headers of a dead letter at the broker, besides those of the message.
package enum DeadLetterHeader {
    /// The subject of the message.
    package static let subject = "dead-letter-subject"
    /// The durable name whose listeners it is for. In a message that was put back, too.
    package static let name = "dead-letter-name"
    /// Why it is one.
    static let reason = "dead-letter-reason"
    /// The identifier of the message; the letter has another one.
    static let id = "dead-letter-id"
    /// How often the message was delivered before.
    static let attempts = "dead-letter-attempts"

    /// How the identifier of a letter begins, by which a file finds letters.
    package static let idPrefix = "dead-letter-"
}

extension BridgeContext {
    /// Publishes a dead letter of a durable name, and returns when the broker has stored it. Without
    /// ``BridgeConfiguration/deadLetters`` it does nothing.
    func keep(_ letter: DeadLetter, of durableName: String) async throws {
        guard let name = configuration.deadLetters else { return }
        let prefix = configuration.subject(of: name)
        let subject = letter.message.subject
        // One that cannot be handled is not kept again.
        guard !subject.utf8.starts(with: (prefix + ".").utf8) else { return }
        let keptSubject = "\(prefix).\(configuration.name(ofSubject: subject))"
        try await transport.keep(letter, on: keptSubject, for: durableName)
    }
}

extension Transport {
    /// Publishes a dead letter of a message durably, for a durable name.
    ///
    /// A letter has more headers than its message. If that makes it too large for the broker, it is published
    /// without those that only explain it.
    package func keep(_ letter: DeadLetter, on subject: String, for durableName: String) async throws {
        let message = letter.message
        var headers = message.headers
        headers.setValid(message.subject, for: DeadLetterHeader.subject)
        headers.setValid(durableName.percentEncoded, for: DeadLetterHeader.name)
        headers.setValid(String(letter.error.description.prefix(500)).percentEncoded, for: DeadLetterHeader.reason)
        if let id = headers[TransportHeaders.id] { headers.setValid(id, for: DeadLetterHeader.id) }
        headers.setValid("\(letter.deliveryCount)", for: DeadLetterHeader.attempts)
        headers.setValid(DeadLetterHeader.idPrefix + randomIdentifier(), for: TransportHeaders.id)
        var kept = try TransportMessage(subject: subject, headers: headers, body: message.body)
        do { try await publish(kept, durable: true) } catch let error as BridgeError
            where error.code == .payloadTooLarge
        {
            headers.remove(DeadLetterHeader.reason)
            headers.remove(DeadLetterHeader.id)
            headers.remove(DeadLetterHeader.attempts)
            kept = TransportMessage(valid: kept.subject, headers: headers, body: message.body)
            try await publish(kept, durable: true)
        }
    }
}
