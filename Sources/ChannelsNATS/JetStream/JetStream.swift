#if NATS
import ChannelsBridge
import Foundation

/// What is asked of JetStream, over requests as any other: the functions of the C client for it wait on the
/// calling thread.
final class JetStream: Sendable {
    let inbox: ReplyInbox
    let configuration: NATSConfiguration

    init(_ inbox: ReplyInbox, _ configuration: NATSConfiguration) {
        self.inbox = inbox
        self.configuration = configuration
    }

    /// The JSON of JetStream has names such as `max_age`.
    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return encoder
    }

    /// See ``encoder``.
    static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    // MARK: Streams

    /// Creates a stream; one of that name that exists stays as it is.
    func create(_ stream: NATSStream) async throws {
        try WireRules.check(token: stream.name)
        for subject in stream.subjects { try WireRules.check(pattern: subject) }
        do {
            let _: Created = try await call("STREAM.CREATE.\(stream.name)", StreamRequest(stream))
        } catch let refusal as Refusal where refusal.reason == .nameTaken {
            // Whoever runs the servers may have set it up otherwise, and knows better.
        }
    }

    /// The one stream that keeps what is published on the subjects of a pattern.
    func stream(for pattern: String) async throws -> String {
        let found: StreamNames = try await call("STREAM.NAMES", ["subject": pattern])
        let names = found.streams ?? []
        if names.count == 1 { return names[0] }
        let problem =
            names.isEmpty ? "no stream keeps it" : "several streams keep parts of it: \(names.joined(separator: ", "))"
        throw BridgeError(.unsupported, subject: pattern, "\(problem.singleLine); see NATSConfiguration.streams")
    }

    // MARK: Calling

    /// - Throws: ``Refusal`` where JetStream answers with an error, ``BridgeError`` otherwise.
    func call<Answer: Decodable>(_ name: String, _ request: some Encodable) async throws -> Answer {
        let message = NATSMessage(subject: "$JS.API.\(name)", payload: Array(try JetStream.encoder.encode(request)))
        let deadline = ContinuousClock.now + configuration.requestTimeout
        var reason: BridgeError?
        while true {
            let rest = ContinuousClock.now.duration(to: deadline)
            let answer: NATSMessage
            do {
                answer = try await inbox.request(message, timeout: min(rest, configuration.retryInterval))
            } catch let error as BridgeError where error.code == .timedOut {
                // A cluster without a leader does not answer at all. Whatever is asked here may be asked
                // twice.
                guard rest > configuration.retryInterval else { throw reason ?? error }
                continue
            }
            if answer.isNoResponders {
                // JetStream is off, or its cluster has no leader: that passes.
                let off = BridgeError(.unsupported, subject: message.subject, "JetStream does not answer: is it on?")
                reason = off
                try await wait(until: deadline, else: off)
                continue
            }
            if let refusal = try? JetStream.decoder.decode(Refusal.Envelope.self, from: Data(answer.payload)).error {
                guard refusal.reason == .notNow else { throw refusal }
                try await wait(
                    until: deadline,
                    else: BridgeError(.notConnected, subject: message.subject, refusal.description)
                )
                continue
            }
            do {
                return try JetStream.decoder.decode(Answer.self, from: Data(answer.payload))
            } catch {
                throw BridgeError(
                    .transportFailure,
                    subject: message.subject,
                    detail: "the answer cannot be read",
                    underlyingError: error
                )
            }
        }
    }

    /// A short while; throws when the deadline has come.
    func wait(until deadline: ContinuousClock.Instant, else error: BridgeError) async throws {
        let pause = Duration.milliseconds(Int.random(in: 50...150))
        guard ContinuousClock.now + pause < deadline else { throw error }
        try await Task.sleep(for: pause)
    }
}

/// Why JetStream does not do what it was asked.
struct Refusal: Error, Decodable, CustomStringConvertible {
    struct Envelope: Decodable { var error: Refusal }
    enum Reason { case nameTaken, notNow, other }

    var code: Int
    var errCode: Int?
    var text: String?

    private enum CodingKeys: String, CodingKey {
        case code, errCode
        case text = "description"
    }

    var reason: Reason {
        switch errCode {
        // A stream, or a consumer, of that name with another configuration.
        case 10058, 10013, 10148: .nameTaken
        // The cluster has no leader, or has not found all its servers yet.
        case 10004, 10005, 10007, 10008, 10009: .notNow
        // Any failure of the storage, passing or not; that a limit is reached does not pass by itself.
        case 10077: description.contains("exceed") ? .other : .notNow
        default: code == 503 ? .notNow : .other
        }
    }

    var description: String { "JetStream says: \((text ?? "no reason").singleLine) (\(errCode ?? code))" }
}

/// An answer of which only that it came is of interest.
struct Created: Decodable {}

private struct StreamNames: Decodable { var streams: [String]? }

private struct StreamRequest: Encodable {
    var name: String
    var subjects: [String]
    var storage: String
    var numReplicas: Int
    var retention: String
    var discard: String
    var maxAge: Int64
    var maxBytes: Int64
    var maxMsgs: Int64
    var maxMsgsPerSubject: Int64
    var duplicateWindow: Int64
    var allowRollupHdrs: Bool
    var allowDirect = true

    init(_ stream: NATSStream) {
        name = stream.name
        subjects = stream.subjects
        storage = stream.storage == .file ? "file" : "memory"
        retention = stream.retention == .interest ? "interest" : "limits"
        numReplicas = stream.replicas
        maxAge = stream.maximumAge?.nanoseconds ?? 0
        maxBytes = Int64(stream.maximumBytes ?? -1)
        maxMsgs = Int64(stream.maximumMessages ?? -1)
        maxMsgsPerSubject = stream.keepsLastValues ? 1 : -1
        allowRollupHdrs = stream.keepsLastValues
        // A full stream refuses what is new, rather than lose what it has acknowledged.
        discard = "new"
        // Longer than age makes no sense to the server, and it refuses it.
        let window = stream.duplicateWindow.nanoseconds
        duplicateWindow = maxAge > 0 ? min(window, maxAge) : window
    }
}

extension NATSMessage {
    /// Whether this is the server's word that nobody listens where a request was sent.
    var isNoResponders: Bool { payload.isEmpty && self[header: "Status"] == "503" }
}

extension WireRules {
    /// Throws unless the text can be the name of a stream or consumer, which is one token of a subject.
    static func check(token: String) throws {
        try check(subject: token)
        guard !token.utf8.contains(UInt8(ascii: ".")), !token.utf8.contains(UInt8(ascii: "/")),
            !token.utf8.contains(UInt8(ascii: "\\"))
        else {
            throw BridgeError(.invalidName, subject: token.singleLine, "the name of a stream is a single token")
        }
    }
}
#endif
