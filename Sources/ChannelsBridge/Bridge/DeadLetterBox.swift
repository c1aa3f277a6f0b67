package import Channels

/// Republishes the dead letters that a broker keeps because of ``BridgeConfiguration/deadLetters``, once the
/// cause is fixed.
///
/// ```swift
/// let box = DeadLetterBox("dead")
/// let count = try await box.putBack(over: transport)
/// ```
///
/// ``letters(over:)``, ``putBack(_:over:)`` and ``drop(_:over:)`` handle letters one by one, as does the
/// command `channels dead`.
public struct DeadLetterBox: Sendable {
    let prefix: String
    private let configuration: BridgeConfiguration

    /// Creates a box.
    ///
    /// - Parameters:
    ///   - name: The name in ``BridgeConfiguration/deadLetters``.
    ///   - configuration: The configuration of the bridges, for its
    ///     ``BridgeConfiguration/subjectPrefix``.
    public init(_ name: String, configuration: BridgeConfiguration = BridgeConfiguration()) {
        prefix = configuration.subject(of: name)
        self.configuration = configuration
    }

    /// Republishes each letter on its original subject, for the durable name whose listeners failed, and removes it.
    /// Bridges with other names acknowledge the message without delivering it; clients that are not bridges receive it
    /// again.
    ///
    /// Only letters that are there when the call begins are put back, so the call ends even if they fail again at once.
    /// If a process is killed between the two steps, the letter is still there. Putting it back again publishes the
    /// same identifier, so a broker that remembers it stores the message once. The same holds if two processes put one
    /// letter back at the same time, of which one may throw ``BridgeError/Code/refused``.
    ///
    /// A letter is recognized by its headers; other messages whose names begin like those of letters are left alone.
    /// The name comes from the letter's own subject, whatever its headers say. Therefore, a client that may
    /// publish letters of one name cannot get a message published on another. Nothing is published on names
    /// that begin with `$`, which belong to the broker.
    ///
    /// A letter that cannot be put back stays in the box, and the others are still put back. The call ends if the
    /// connection fails or the broker does not answer in time.
    ///
    /// - Parameters:
    ///   - transport: A transport that is not connected. It is closed at the end.
    ///   - limit: How many to put back.
    /// - Returns: How many were put back.
    /// - Throws: The first error, once all other letters have been tried: the transport's, or
    ///   ``BridgeError/Code/invalidName`` for a letter of a name that belongs to the broker. Letters whose
    ///   message was not acknowledged stay in the box, although the broker may have stored the message.
    ///   ``BridgeError/Code/unsupported`` if the transport is not a ``MessageStore``.
    /// - Complexity: O(*n*) in the number of letters; over NATS, five requests for each.
    public func putBack(over transport: any Transport, atMost limit: Int = .max) async throws -> Int {
        try await withConnection(transport) { try await putBack(connected: transport, limit) }
    }

    func withConnection<Value>(_ transport: any Transport, _ body: () async throws -> Value) async throws -> Value {
        try await transport.connect { _ in }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        // In its own task, because this one may be cancelled.
        try await Task { try await transport.close(timeout: .seconds(10)) }.value
        return try result.get()
    }

    /// The subjects of the letters.
    package var pattern: ChannelPattern {
        get throws {
            do { return try ChannelPattern(validating: "\(prefix).>") } catch {
                throw BridgeError(.invalidName, subject: prefix, underlyingError: error)
            }
        }
    }

    package func putBack(connected transport: any Transport, _ limit: Int = .max) async throws -> Int {
        // A letter that arrives later may be one that was put back and has failed again.
        var last: Letter?
        try await forEachLetter(connected: transport) { last = $0 }
        var count = 0
        var failure: BridgeError?
        try await forEachLetter(connected: transport, through: last?.number ?? 0) { letter in
            if count == limit || failure?.code.concernsEveryMessage == true { return }
            try Task.checkCancellation()
            do {
                try await putBack(letter, connected: transport)
                count += 1
            } catch {
                if error is CancellationError { throw error }
                failure = failure ?? BridgeError.from(error, subject: letter.message.subject)
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Where a letter came from.
    ///
    /// A client that may publish letters can write anything into the header that names the subject. It is
    /// trusted only to find out how much of the box's own name is the prefix of the subjects.
    func subject(of letter: TransportMessage) -> String {
        let name = String(decoding: letter.subject.utf8.dropFirst(prefix.utf8.count + 1), as: UTF8.self)
        guard configuration.subjectPrefix.isEmpty else { return configuration.subject(of: name) }
        let claimed = letter.headers[DeadLetterHeader.subject] ?? name
        // Compared in bytes, because a dot and a combining mark after it are one character.
        let dots = prefix.utf8.indices.lazy.filter { prefix.utf8[$0] == UInt8(ascii: ".") }
        return dots.map { prefix[...$0] + name }.first { $0.hasBytes(of: claimed) } ?? name
    }

    /// The message to publish again, with a new identifier.
    ///
    /// The identifier is the same each time, so the stream drops the repeat if this process is killed before
    /// it removes the letter. Other clients cannot predict it, because it contains the number of the letter
    /// in its stream.
    func message(of letter: TransportMessage, _ sequence: UInt64) throws -> TransportMessage {
        let subject = subject(of: letter)
        guard subject.utf8.first != UInt8(ascii: "$") else {
            throw BridgeError(.invalidName, subject: subject, detail: "names that begin with $ belong to the broker")
        }
        var headers = letter.headers
        headers.remove(DeadLetterHeader.subject)
        headers.remove(DeadLetterHeader.reason)
        headers.remove(DeadLetterHeader.attempts)
        if let id = headers[TransportHeaders.id] {
            headers.setValid("letter-\(sequence)-\(id)", for: TransportHeaders.id)
        }
        return try TransportMessage(subject: subject, headers: headers, body: letter.body)
    }
}

extension BridgeError.Code {
    /// Whether the error concerns the connection or the broker, not one message.
    fileprivate var concernsEveryMessage: Bool {
        [.notConnected, .closed, .notAcknowledged, .timedOut].contains(self)
    }
}
