#if NATS
import Channels
import ChannelsBridge
import Foundation

extension JetStream {
    /// Publishes a message once, and returns when it is in the outbox. Call ``checkStream(of:)`` first.
    ///
    /// - Parameters:
    ///   - epoch: The ``NATSConnection/epoch`` of the only connection that may be used; nil for the current
    ///     one.
    ///   - isRepeated: Whether the stream may already have a message with the identifier.
    ///   - timeout: How long to wait for the acknowledgement.
    ///   - onResult: Called once, on any thread, unless this throws. The result is the sequence of the
    ///     message in its stream.
    func publishOnce(
        _ message: NATSMessage,
        onConnection epoch: Int? = nil,
        isRepeated: Bool,
        timeout: Duration,
        onResult: @escaping @Sendable (Result<UInt64, BridgeError>) -> Void
    ) async throws {
        var message = message
        message.epoch = epoch
        // Otherwise each call without a connection would queue another copy.
        message.isBoundToConnection = true
        let subject = message.subject
        try await inbox.send(message, timeout: timeout) { [self] answer in
            do throws(BridgeError) {
                let acknowledgement = try Acknowledgement(NATSMessage.bytes(of: answer.get()), subject)
                acknowledged(acknowledgement)
                guard isRepeated || !acknowledgement.isDuplicate else {
                    throw BridgeError(
                        .duplicateIdentifier,
                        subject: subject,
                        "the stream \(acknowledgement.stream.singleLine) has message \(acknowledgement.sequence)"
                    )
                }
                onResult(.success(acknowledgement.sequence))
            } catch {
                let isSilent = error.code == .noResponder
                guard isSilent || error.code == .timedOut else { return onResult(.failure(error)) }
                // The stream has no leader now, or is gone, and another client may receive the subject.
                forgetStreams()
                let detail = isSilent ? "its stream does not answer" : "no acknowledgement arrived within \(timeout)"
                onResult(.failure(BridgeError(.notAcknowledged, subject: subject, detail)))
            }
        }
    }

    /// Throws unless a stream stores a subject. Otherwise each attempt would reach every subscriber without a
    /// stream, and none would be acknowledged.
    func checkStream(of subject: String) async throws {
        if knownStreams.withLock({ $0.keep(subject) }) { return }
        let subjects = try await self.subjects(ofStream: try await stream(for: subject))
        knownStreams.withLock { $0.add(subjects, for: subject) }
    }

    /// Publishes a message until the stream has stored it, each time with the same identifier, which the
    /// stream recognizes. Call ``checkStream(of:)`` first.
    ///
    /// - Returns: The sequence of the message in its stream.
    func publish(_ message: NATSMessage) async throws -> UInt64 {
        let deadline = ContinuousClock.now + configuration.acknowledgementTimeout
        while true {
            let timeout = min(ContinuousClock.now.duration(to: deadline), configuration.retryInterval)
            do {
                let first = FirstResult<UInt64>()
                try await publishOnce(message, isRepeated: true, timeout: timeout) { result in
                    first.finish(result.mapError { $0 })
                }
                return try await first.valueUnlessCancelled()
            } catch let error as BridgeError where [.notAcknowledged, .notConnected].contains(error.code) {
                let reason = inbox.isConnected ? error.detail : "there is no connection"
                let failure = BridgeError(.notAcknowledged, subject: message.subject, detail: reason)
                try await wait(until: deadline, else: failure)
            }
            // The stream may be gone. If the permission to ask is missing, publishing continues.
            do { try await checkStream(of: message.subject) } catch let error as BridgeError
                where error.code == .unsupported || error.code == .notStored
            {
                throw error
            } catch {}
        }
    }
}

/// The answer of a stream to a message: `{"stream":"SHOP","seq":3}`.
struct Acknowledgement {
    let stream: String
    let sequence: UInt64
    /// Whether the stream already had a message with its identifier, and did not store this one.
    let isDuplicate: Bool

    private struct Answer: Decodable {
        var stream: String?
        var seq: UInt64?
        var duplicate: Bool?
        var error: Refusal?
    }

    private init(_ stream: String, _ sequence: UInt64, isDuplicate: Bool) {
        (self.stream, self.sequence, self.isDuplicate) = (stream, sequence, isDuplicate)
    }

    /// - Throws: ``BridgeError/Code/notAcknowledged`` if another attempt may succeed, otherwise another code.
    init(_ payload: UnsafeRawBufferPointer, _ subject: String) throws(BridgeError) {
        if let found = Self.plain(payload) {
            self = found
            return
        }
        guard (try? checkNesting(of: payload)) != nil,
            let answer = try? JetStream.decoder.decode(Answer.self, from: Data(payload))
        else {
            throw BridgeError.unreadable("the acknowledgement", on: subject)
        }
        if let refusal = answer.error {
            let code: BridgeError.Code =
                switch refusal.reason {
                case .notNow: .notAcknowledged
                case .full: .bufferFull
                case .tooLarge: .payloadTooLarge
                case .nameTaken, .notFound, .other: .refused
                }
            throw BridgeError(code, subject: subject, detail: refusal.description, underlyingError: refusal)
        }
        guard let stream = answer.stream, let sequence = answer.seq else {
            throw BridgeError(.transportFailure, subject: subject, "another client answered instead of a stream")
        }
        // nats-server 2.10 with several replicas knows the identifier of a message that it has not stored, and perhaps
        // never will. Later versions say that it is in process.
        guard sequence > 0 else {
            throw BridgeError(.notAcknowledged, subject: subject, "a copy of the message is in process")
        }
        self.init(stream, sequence, isDuplicate: answer.duplicate ?? false)
    }

    /// Reads the usual form of an answer without a decoder, which would take longer than everything else.
    private static func plain(_ payload: UnsafeRawBufferPointer) -> Acknowledgement? {
        guard payload.last == UInt8(ascii: "}") else { return nil }
        let members = payload.dropLast().split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard members.count == 2 || members.count == 3, let stream = name(value(of: nameKey, in: members[0])),
            let number = value(of: sequenceKey, in: members[1]).flatMap({ UInt64(digits: $0) }), number > 0
        else { return nil }
        if members.count == 2 { return Acknowledgement(stream, number, isDuplicate: false) }
        guard value(of: duplicateKey, in: members[2])?.elementsEqual("true".utf8) == true else { return nil }
        return Acknowledgement(stream, number, isDuplicate: true)
    }

    private typealias Bytes = Slice<UnsafeRawBufferPointer>
    private static let nameKey = Array("{\"stream\":".utf8)
    private static let sequenceKey = Array("\"seq\":".utf8)
    private static let duplicateKey = Array("\"duplicate\":".utf8)

    /// The value after a key, without spaces around it.
    private static func value(of key: [UInt8], in member: Bytes) -> Bytes? {
        let member = member.drop { $0 == UInt8(ascii: " ") }
        guard member.starts(with: key) else { return nil }
        return member.dropFirst(key.count).drop { $0 == UInt8(ascii: " ") }
    }

    /// The text between quotation marks; nil if it contains a quotation mark or an escape.
    private static func name(_ value: Bytes?) -> String? {
        guard let value, value.count > 2, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") else {
            return nil
        }
        let text = value.dropFirst().dropLast()
        guard !text.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
#endif
