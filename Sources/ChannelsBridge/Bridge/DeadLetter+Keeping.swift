internal import Channels

/// The headers that a dead letter at the broker has in addition to those of its message.
package enum DeadLetterHeader {
    /// The subject of the message.
    package static let subject = "dead-letter-subject"
    /// The durable name whose listeners it is for. A message that was put back has this header, too.
    package static let name = "dead-letter-name"
    /// Why the message could not be delivered.
    static let reason = "dead-letter-reason"
    /// The identifier of the message that listeners see, through any number of letters. A letter, and a message that
    /// was put back, have their own for the broker.
    static let id = "dead-letter-id"
    /// How often the message was delivered before.
    static let attempts = "dead-letter-attempts"

    /// How the identifier of a letter begins. A transport over a file finds letters by it.
    package static let idPrefix = "dead-letter-"
}

extension TransportMessage {
    /// Whether the message is a dead letter that a broker keeps. One that was put back is a message again.
    package var isDeadLetter: Bool { headers[DeadLetterHeader.subject] != nil }

    /// Whether a durable name handles the message, or a route that has none: one that was put back is only for the name
    /// that failed.
    func isMeant(for durableName: String?) -> Bool {
        guard !isDeadLetter, let name = headers[DeadLetterHeader.name] else { return true }
        return durableName.map { name.hasBytes(of: $0.percentEncoded) } ?? false
    }
}

extension ChannelPattern {
    /// Whether a route for this pattern delivers a message that matches it.
    ///
    /// A letter is only for routes that write out the prefix of letters: `dead.>` delivers it, and `>` does not.
    func delivers(_ message: TransportMessage) -> Bool {
        guard let origin = message.headers[DeadLetterHeader.subject] else { return true }
        // The subject of a letter has the tokens of the prefix in addition to those of its message.
        let dots = { (subject: String) in subject.utf8.count { $0 == UInt8(ascii: ".") } }
        let prefix = max(dots(message.subject) - dots(origin), 1)
        return text.utf8.split(separator: UInt8(ascii: ".")).prefix(prefix).allSatisfy { token in
            !token.elementsEqual("*".utf8) && !token.elementsEqual(">".utf8)
        }
    }
}

extension BridgeContext {
    /// Keeps the letter of a durable message, if letters are kept.
    ///
    /// - Returns: What ``Transport/keep(_:of:on:for:)`` returns; true if no letter is to be kept.
    func keep(_ letter: DeadLetter, of inbound: InboundMessage, for durableName: String) async throws -> Bool {
        guard let name = configuration.deadLetters else { return true }
        let prefix = configuration.subject(of: name)
        // A letter that cannot be handled gets no letter of its own: the broker already has it.
        guard !letter.message.isDeadLetter else { return true }
        let subject = "\(prefix).\(configuration.name(ofSubject: letter.message.subject))"
        try await (transport as? any MessageStore)?.prepare(forLetterOn: subject, under: prefix)
        return try await transport.keep(letter, of: inbound, on: subject, for: durableName)
    }
}

extension Transport {
    /// Stores the dead letter of a durable message, for a durable name. If the transport can, it removes the
    /// message in the same transaction.
    ///
    /// A letter has more headers than its message. If that makes it too large for the broker, it is stored
    /// without those that only explain it.
    ///
    /// - Returns: Whether the letter is stored, so that the message may be terminated; false if the message
    ///   has been settled in another way meanwhile, or another process now has it.
    @discardableResult
    package func keep(
        _ letter: DeadLetter,
        of inbound: InboundMessage? = nil,
        on subject: String,
        for durableName: String
    ) async throws -> Bool {
        let store: (TransportMessage) async throws -> Bool = { message in
            if let refuse = inbound?.refuse { return try await refuse(message) }
            try await publish(message, durable: true)
            return true
        }
        let kept = try letter.kept(on: subject, for: durableName, of: inbound)
        do { return try await store(kept) } catch let error as BridgeError where error.code == .payloadTooLarge {
            return try await store(kept.withoutExplanations)
        }
    }
}

extension DeadLetter {
    /// The message to store for this letter. What the broker knew of a message without an envelope goes with it.
    fileprivate func kept(on subject: String, for durableName: String, of inbound: InboundMessage?) throws
        -> TransportMessage
    {
        var headers = message.headers
        headers.setValid(message.subject, for: DeadLetterHeader.subject)
        headers.setValid(durableName.percentEncoded, for: DeadLetterHeader.name)
        headers.setValid(String(error.description.prefix(500)).percentEncoded, for: DeadLetterHeader.reason)
        let id = headers[DeadLetterHeader.id] ?? headers[TransportHeaders.id] ?? inbound?.identity?.percentEncoded
        if let id { headers.setValid(id, for: DeadLetterHeader.id) }
        if headers[EventEnvelope.Header.time] == nil, let seconds = inbound?.secondsSince1970 {
            headers.setValid(Timestamp(secondsSince1970: seconds).text, for: EventEnvelope.Header.time)
        }
        headers.setValid("\(deliveryCount)", for: DeadLetterHeader.attempts)
        headers.setValid(DeadLetterHeader.idPrefix + randomIdentifier(), for: TransportHeaders.id)
        return try TransportMessage(subject: subject, headers: headers, body: message.body)
    }
}

extension TransportMessage {
    fileprivate var withoutExplanations: TransportMessage {
        var message = self
        for name in [DeadLetterHeader.reason, DeadLetterHeader.attempts] { message.headers.remove(name) }
        return message
    }
}
