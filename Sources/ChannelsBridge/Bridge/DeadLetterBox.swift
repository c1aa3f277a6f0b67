internal import Channels

/// The dead letters that a broker keeps because of ``BridgeConfiguration/deadLetters``, to be put back when what
/// was wrong has been mended.
///
/// ```swift
/// let box = DeadLetterBox("dead")
/// let count = try await box.putBack(over: transport)
/// ```
public struct DeadLetterBox: Sendable {
    private let prefix: String
    private let configuration: BridgeConfiguration

    /// Creates a box.
    ///
    /// - Parameters:
    ///   - name: The name in ``BridgeConfiguration/deadLetters``.
    ///   - configuration: That of the bridges, for ``BridgeConfiguration/subjectPrefix`` and
    ///     ``BridgeConfiguration/clock``.
    public init(_ name: String, configuration: BridgeConfiguration = BridgeConfiguration()) {
        prefix = configuration.subjectPrefix.isEmpty ? name : "\(configuration.subjectPrefix).\(name)"
        self.configuration = configuration
    }

    /// Publishes each letter again on the subject that it came from, for the durable name whose listeners had
    /// failed: bridges of other names acknowledge it without delivering it, and clients that are no bridges
    /// receive it again.
    ///
    /// A letter is put back once: the box is a durable name itself, `dead-letters`. Where the letters are stored
    /// without a limit, they stay there all the same. Do not put letters back twice at the same time.
    ///
    /// - Parameters:
    ///   - transport: A transport that is not connected. It is closed at the end.
    ///   - limit: How many to put back.
    ///   - quiet: When no letter has come for this long, there is none left.
    /// - Returns: How many were put back.
    /// - Throws: The error of the transport. Letters that were not acknowledged stay in the box; one may be put
    ///   back although it does.
    public func putBack(
        over transport: any Transport,
        atMost limit: Int = .max,
        quiet: Duration = .seconds(2)
    ) async throws -> Int {
        try await transport.connect { _ in }
        let result: Result<Int, any Error>
        do { result = .success(try await putBack(connected: transport, limit, quiet)) } catch {
            result = .failure(error)
        }
        // In a task of its own: this one may be cancelled.
        try await Task { try await transport.close(within: .seconds(10)) }.value
        return try result.get()
    }

    private func putBack(connected transport: any Transport, _ limit: Int, _ quiet: Duration) async throws -> Int {
        let letters = InboundQueue<InboundMessage>(limit: .max, byteLimit: .max)
        let pattern: ChannelPattern
        do { pattern = try ChannelPattern(validating: "\(prefix).>") } catch {
            throw BridgeError(.invalidName, subject: prefix, underlyingError: error)
        }
        var subscription = TransportSubscription(to: pattern, durableName: "dead-letters")
        if transport.capabilities.contains(.replay) { subscription.start = .stored }
        try await transport.subscribe(subscription) { letter in
            _ = letters.add(letter, bytes: letter.message.byteCount)
        }
        var count = 0
        while count < limit, let letter = await letters.next(within: quiet, clock: configuration.clock) {
            try Task.checkCancellation()
            try await transport.publish(try message(of: letter.message), durable: true)
            letter.settle?(.acknowledged)
            count += 1
        }
        return count
    }

    /// The message to publish again, with an identifier that no stream knows.
    private func message(of letter: TransportMessage) throws -> TransportMessage {
        var headers = letter.headers
        let subject = headers[DeadLetterHeader.subject] ?? String(letter.subject.dropFirst(prefix.count + 1))
        headers.remove(DeadLetterHeader.subject)
        headers.remove(DeadLetterHeader.reason)
        if headers[TransportHeaders.id] != nil {
            headers.setValid(KeyedHash().digest(of: 0).text, for: TransportHeaders.id)
        }
        return try TransportMessage(subject: subject, headers: headers, body: letter.body)
    }
}
