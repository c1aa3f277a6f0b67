#if NATS
public import Channels
public import ChannelsBridge

extension NATSTransport {
    /// Stores a message as the last value of its subject.
    public func store(_ message: TransportMessage) async throws -> UInt64 {
        try await store(message, expecting: nil)
    }

    /// Stores a message as the last value of its subject, if there is none.
    public func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        let session = try session
        let last = session.streams.bucket.sequence(ofNone: configuration.statePrefix + message.subject)
        if last > 0, let revision = try await store(message, ifLastIs: last) { return revision }
        return try await store(message, ifLastIs: 0)
    }

    /// - Parameter last: The expected last sequence of the subject. A deletion marker also has a sequence,
    ///   until it is removed.
    /// - Returns: The revision; nil if the subject has another last sequence.
    private func store(_ message: TransportMessage, ifLastIs last: UInt64) async throws -> UInt64? {
        do { return try await store(message, expecting: last) } catch let error as BridgeError
            where (error.underlyingError as? Refusal)?.isWrongSequence == true
        {
            return nil
        }
    }

    private func store(_ message: TransportMessage, expecting last: UInt64?) async throws -> UInt64 {
        let session = try session
        // Once, because all attempts of this call must have one identifier.
        var identified = NATSMessage(identified: message)
        identified.subject = configuration.statePrefix + message.subject
        if let last {
            identified.headers.append(.init(name: NATSMessage.expectedSequence, value: "\(last)"))
            // nats-server 2.11 with several replicas remembers the identifiers of messages that it has refused.
            identified.identifier? += "-if-\(last)"
        }
        let stored = identified
        // Who only stores has to notice, too, that the server has lost what it stored.
        session.lookAfterStates()
        return try await session.streams.preparing(.states) {
            session.streams.bucket.revision(try await session.jetStream.publish(stored))
        }
    }

    /// Watches the last values of the subjects that match a pattern.
    public func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        let open = try open()
        let (session, relay) = (open.session, open.relay)
        try await session.streams.prepare(.states)
        let reader = MessageReader(pattern.text, relay)
        let prefix = configuration.statePrefix
        let stored = prefix + pattern.text
        try WireRules.check(pattern: stored)
        let isOfMany = pattern.onlyName == nil
        let watch = LastValueWatch(stored, isOfMany: isOfMany, session) { [bucket = session.streams.bucket] in
            let (value, revision) = ($0, $1)
            let isDeleted = value[header: "KV-Operation"] != nil || value.isMarker
            bucket.found(value.subject, revision: revision, isDeleted: isDeleted)
            let subject = String(decoding: value.subject.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            // Somebody has deleted it with a tool for the key-value store. States cannot be deleted, so
            // processes that have a value store it again.
            guard !isDeleted else { return relay.report(.lastValuesLost(subject: subject)) }
            do throws(BridgeError) {
                onValue(StoredValue(try reader.read(value, subject: subject), revision: revision))
            } catch { relay.report(error) }
        } onLoss: {
            relay.report(.lastValuesLost(subject: pattern.text))
        }
        guard session.keep(watch) else { throw BridgeError(.closed, subject: pattern.text) }
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

    /// Whether it was stored only because its subject had no message, not even a deletion marker.
    var isStoredIfNone: Bool { self[header: Self.expectedSequence] == "0" }
}
#endif
