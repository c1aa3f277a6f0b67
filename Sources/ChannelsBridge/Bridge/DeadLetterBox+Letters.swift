internal import Channels

extension DeadLetterBox {
    /// A dead letter that a broker keeps.
    public struct Letter: Sendable {
        /// The identifier of the letter: its number in the stream.
        public let id: String
        /// The message as it was received, with its own subject, headers and identifier.
        public let message: TransportMessage
        /// The durable name whose listeners failed.
        public let durableName: String?
        /// Why the message could not be delivered.
        public let reason: String?
        /// How often the message had been delivered, by the broker's count.
        public let deliveryCount: Int?
        /// When the letter was stored, by the clock of the broker, as Foundation's `timeIntervalSince1970`.
        public let secondsSince1970: Double?

        let number: UInt64
        fileprivate let kept: TransportMessage

        /// The identifier of the message.
        public var messageID: String? { message.headers[TransportHeaders.id] }
    }

    /// Lists the letters, oldest first.
    ///
    /// Listing locks nothing: other callers may put letters back meanwhile.
    ///
    /// - Parameter transport: A transport that is not connected. It is closed at the end.
    /// - Throws: The transport's errors; ``BridgeError/Code/unsupported`` if it is not a ``MessageStore``.
    /// - Complexity: O(*n*) in the number of messages stored; over NATS, one request per letter.
    public func letters(over transport: any Transport) async throws -> [Letter] {
        try await withConnection(transport) {
            var letters: [Letter] = []
            try await forEachLetter(connected: transport) { letters.append($0) }
            return letters
        }
    }

    /// Republishes one letter and removes it, like ``putBack(over:atMost:)``.
    ///
    /// - Parameters:
    ///   - id: The ``Letter/id`` of the letter or, if no letter has it, the identifier of its message.
    ///   - transport: A transport that is not connected. It is closed at the end.
    /// - Returns: The letter.
    /// - Throws: ``BridgeError/Code/refused`` if there is no such letter, or if several letters have that message; the
    ///   errors of ``putBack(over:atMost:)``.
    public func putBack(_ id: String, over transport: any Transport) async throws -> Letter {
        try await withConnection(transport) {
            let letter = try await letter(id, connected: transport)
            try await putBack(letter, connected: transport)
            return letter
        }
    }

    /// Removes one letter: its message is lost.
    ///
    /// - Parameters:
    ///   - id: The ``Letter/id`` of the letter or, if no letter has it, the identifier of its message.
    ///   - transport: A transport that is not connected. It is closed at the end.
    /// - Returns: The letter.
    /// - Throws: ``BridgeError/Code/refused`` if there is no such letter, or if several letters have that message.
    public func drop(_ id: String, over transport: any Transport) async throws -> Letter {
        try await withConnection(transport) {
            let letter = try await letter(id, connected: transport)
            try await drop(letter, connected: transport)
            return letter
        }
    }

    // MARK: Connected

    package func forEachLetter(
        connected transport: any Transport,
        through end: UInt64 = .max,
        _ body: (Letter) async throws -> Void
    ) async throws {
        let (store, pattern) = (try store(transport), try pattern)
        var last: UInt64 = 0
        while true {
            let page = try await store.stored(after: last, matching: pattern, atMost: 256)
            guard let number = page.last?.number, page[0].number <= end else { return }
            last = number
            for stored in page where stored.number <= end && stored.message.isDeadLetter {
                try await body(letter(stored))
            }
        }
    }

    package func letter(_ id: String, connected transport: any Transport) async throws -> Letter {
        if let number = UInt64(id), number > 0 {
            let found = try await store(transport).stored(after: number - 1, matching: pattern, atMost: 1)
            if let found = found.first, found.number == number, found.message.isDeadLetter { return letter(found) }
        }
        var found: [Letter] = []
        try await forEachLetter(connected: transport) { letter in
            if let own = letter.messageID, own.hasBytes(of: id) { found.append(letter) }
        }
        guard let letter = found.first else { throw refusal("there is no letter \(quoted(id))") }
        guard found.count == 1 else {
            throw refusal("letters \(found.map(\.id).joined(separator: ", ")) have the message \(quoted(id))")
        }
        return letter
    }

    package func putBack(_ letter: Letter, connected transport: any Transport) async throws {
        let store = try store(transport)
        try await store.publish(try message(of: letter.kept, letter.number), durable: true)
        try await store.remove(letter.number, on: pattern)
    }

    package func drop(_ letter: Letter, connected transport: any Transport) async throws {
        try await store(transport).remove(letter.number, on: pattern)
    }

    private func store(_ transport: any Transport) throws -> any MessageStore {
        if let store = transport as? any MessageStore { return store }
        throw BridgeError(.unsupported, subject: prefix, detail: "\(type(of: transport)) cannot list what it stores")
    }

    private func refusal(_ detail: String) -> BridgeError { BridgeError(.refused, subject: prefix, detail: detail) }

    private func letter(_ stored: StoredMessage) -> Letter {
        let kept = stored.message
        func header(_ name: String) -> String? {
            kept.headers[name].map { (try? $0.percentDecoded(name, kept.subject)) ?? $0 }
        }
        var headers = kept.headers
        for name in [DeadLetterHeader.subject, DeadLetterHeader.name, DeadLetterHeader.reason] { headers.remove(name) }
        for name in [DeadLetterHeader.attempts, DeadLetterHeader.id] { headers.remove(name) }
        if let id = kept.headers[DeadLetterHeader.id] { headers.setValid(id, for: TransportHeaders.id) }
        return Letter(
            id: "\(stored.number)",
            message: TransportMessage(valid: subject(of: kept), headers: headers, body: kept.body),
            durableName: header(DeadLetterHeader.name),
            reason: header(DeadLetterHeader.reason),
            deliveryCount: kept.headers[DeadLetterHeader.attempts].flatMap { Int($0) },
            secondsSince1970: stored.secondsSince1970,
            number: stored.number,
            kept: kept
        )
    }
}

extension DeadLetterBox.Letter: CustomStringConvertible {
    /// One line: the number, the channel, the body (as text if it is text), and why the message could not be
    /// delivered.
    public var description: String {
        let times = deliveryCount.map { ", delivered \(counted($0, "time"))" } ?? ""
        let name = durableName.map { " for \(quoted($0))" } ?? ""
        return "letter \(id) on \(message)\(name)\(times): \(reason ?? "no reason is kept")"
    }
}
