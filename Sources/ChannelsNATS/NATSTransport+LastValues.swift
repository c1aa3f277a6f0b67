#if NATS
public import ChannelsBridge

extension NATSTransport {
    /// Stores a message as the last value of its subject.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        try await store(message, headers: [])
    }

    /// Stores a message as the last value of its subject, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        let session = try session
        let last = session.streams.bucket.sequence(ofNone: configuration.statePrefix + message.subject)
        if last > 0, let revision = try await store(message, ifLastIs: last) { return revision }
        return try await store(message, ifLastIs: 0)
    }

    /// - Parameter last: The last sequence of the subject. A deletion marker has one, too, until it is
    ///   removed.
    /// - Returns: Nil if it has another.
    private func store(_ message: TransportMessage, ifLastIs last: UInt64) async throws -> UInt64? {
        let expected = NATSMessage.Header(name: NATSMessage.expectedSequence, value: "\(last)")
        do { return try await store(message, headers: [expected]) } catch let error as BridgeError
            where (error.underlyingError as? Refusal)?.isWrongSequence == true
        {
            return nil
        }
    }

    private func store(_ message: TransportMessage, headers: [NATSMessage.Header]) async throws -> UInt64 {
        let session = try session
        return try await session.streams.preparing({ try await $0.prepareStates() }) {
            var stored = NATSMessage(identified: message)
            stored.subject = configuration.statePrefix + message.subject
            stored.headers += headers
            return session.streams.bucket.revision(try await session.jetStream.publish(stored))
        }
    }

    /// Watches the last value of a subject.
    public func watch(_ subject: String, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        let (session, relay) = try open
        try await session.streams.prepareStates()
        let reader = MessageReader(subject, relay)
        let stored = configuration.statePrefix + subject
        try WireRules.check(subject: stored)
        let watch = LastValueWatch(stored, session) { [bucket = session.streams.bucket] value, revision in
            let isDeleted = value[header: "KV-Operation"] != nil
            bucket.found(stored, revision: revision, isDeleted: isDeleted)
            // With a tool for the key-value store. A state cannot be deleted: processes that have a value
            // store it again.
            guard !isDeleted else { return relay.reportLostValues(on: subject) }
            // The subject is that of the subscription, and valid.
            guard let message = try? reader.read(value, subject: subject) else { return }
            onValue(StoredValue(message, revision: revision))
        } onFailure: {
            relay.report($0)
        } onLoss: {
            relay.reportLostValues(on: subject)
        }
        guard session.keep(watch) else { throw BridgeError(.closed, subject: subject) }
        do {
            try await watch.open()
        } catch {
            await session.forget(watch)
            throw BridgeError(wrapping: error, subject: stored)
        }
    }
}

extension NATSMessage {
    fileprivate static let expectedSequence = "Nats-Expected-Last-Subject-Sequence"

    /// Whether it was stored only because its subject had no message, not even one which says that it was deleted.
    var isStoredIfNone: Bool { self[header: Self.expectedSequence] == "0" }
}
#endif
