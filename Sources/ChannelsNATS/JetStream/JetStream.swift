#if NATS
import Channels
import ChannelsBridge
import Foundation
import Synchronization

/// Sends the requests of JetStream as ordinary requests, because the C client's functions for them block the
/// calling thread.
final class JetStream: Sendable {
    let inbox: ReplyInbox
    let configuration: NATSConfiguration
    let knownStreams = Locked(KnownStreams())
    /// Whether JetStream has ever answered. If it has, its silence is temporary.
    private let hasAnswered = Atomic(false)
    /// Whether ``unusable(_:subject:because:)`` has ended the run.
    private let hasEnded = Atomic(false)
    /// The streams of messages as they were last seen.
    private let seen = Locked<[String: StreamIdentity]>([:])
    /// Called for what is found in the background.
    let onEvent: @Sendable (TransportEvent) -> Void

    init(
        _ inbox: ReplyInbox,
        _ configuration: NATSConfiguration,
        onEvent: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.inbox = inbox
        self.configuration = configuration
        self.onEvent = onEvent
    }

    func report(_ error: BridgeError) { onEvent(.failed(error)) }

    /// Ends the run of a bridge, because the server has something with other settings, with which messages
    /// would be lost or not received.
    ///
    /// - Returns: The error to throw.
    func unusable(_ what: String, subject: String, because harm: String) -> BridgeError {
        let error = BridgeError(.settingsDiffer, subject: subject, "\(what) cannot be used: \(harm)".singleLine)
        if !hasEnded.exchange(true, ordering: .relaxed) { onEvent(.closed(reason: error)) }
        return error
    }

    /// Encodes the JSON of JetStream, whose keys look like `max_age`.
    static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return encoder
    }()

    /// Decodes the JSON of JetStream, whose keys look like `max_age`.
    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()

    // MARK: Streams

    /// Creates a stream if there is none with its name. An existing one stays as it is, because the operators
    /// of the servers may have configured it differently on purpose.
    ///
    /// - Returns: How an existing stream differs.
    func create(_ stream: NATSStream) async throws -> [String] {
        var stream = stream
        stream.replicas = configuration.replicas
        try WireRules.check(token: stream.name)
        for subject in stream.subjects { try WireRules.check(pattern: subject) }
        // Looked up first, so that a user who may not create streams can use an existing one.
        do {
            return try await information(onStream: stream.name).0.config.map(stream.differences) ?? []
        } catch let refusal as Refusal where refusal.reason == .notFound {}
        do {
            let _ = try await information(onStream: stream.name, creating: stream)
            return []
        } catch let refusal as Refusal where refusal.reason == .nameTaken || refusal.isOverlap {
            // Another process was faster, or is creating it at the same time. In the second case, the server
            // may already refuse its subjects, but not find the stream yet.
            guard let (found, _) = try? await information(onStream: stream.name) else { throw refusal }
            return found.config.map(stream.differences) ?? []
        }
    }

    /// Records that a stream had a message with this sequence. `stream` is the stream as it was then.
    func heard(_ sequence: UInt64, ofStream name: String, _ stream: StreamIdentity?) {
        seen.withLock { seen in
            guard let known = seen[name], let stream, known.isSame(as: stream) else { return }
            seen[name]?.raise(to: sequence)
        }
    }

    /// Records that a stream has stored a message, or already had it.
    func acknowledged(_ acknowledgement: Acknowledgement) {
        let isContinued = seen.withLock { seen in
            defer { seen[acknowledgement.stream]?.acknowledged(acknowledgement.sequence) }
            return acknowledgement.isDuplicate
                || acknowledgement.sequence > seen[acknowledgement.stream]?.lastAcknowledged ?? 0
        }
        // The stream was created anew, or restored from an older copy: it is looked at before the next message.
        if !isContinued { forgetStreams() }
    }

    /// Looks up or creates a stream, and reports if it was replaced or has lost messages.
    ///
    /// - Parameter known: What is known of the stream of states.
    private func information(
        onStream name: String,
        creating stream: NATSStream? = nil,
        known: StreamIdentity? = nil
    ) async throws -> (StreamInformation, StreamIdentity) {
        let deadline = ContinuousClock.now + configuration.requestTimeout
        while true {
            let before = known ?? seen.withLock { $0[name] }
            let found: StreamInformation =
                if let stream {
                    try await call("STREAM.CREATE.\(name)", stream.settings)
                } else {
                    try await call("STREAM.INFO.\(name)", [String: String]())
                }
            if let settings = found.config,
                let harm = ServerSettings([:]).differences(from: settings, harms: NATSStream.harms, others: false).harm
            {
                throw unusable("the stream \(name)", subject: name, because: harm)
            }
            var identity = found.identity
            guard found.created != nil else { return (found, identity) }
            // A server that has just become the leader may answer before it has everything that a majority
            // has stored.
            if let before, found.config?.number("num_replicas") ?? 1 > 1, before.isAhead(of: identity), .now < deadline
            {
                try await Task.sleep(for: .milliseconds(250))
                continue
            }
            // `Bucket` reports the loss of states.
            guard name != configuration.stateStream else { return (found, identity) }
            let hasLost = seen.withLock { seen -> Bool? in
                let known = seen[name]
                identity.losses = known?.losses ?? 0
                // A loss has been reported since the server was asked, so the answer may be outdated.
                guard identity.losses == before?.losses ?? 0 else { return nil }
                let isContinued = known?.isContinued(by: identity) ?? true
                // The answer may not include messages stored since the server was asked.
                guard isContinued || before?.isContinued(by: identity) == false else { return false }
                if !isContinued { identity.losses += 1 }
                seen[name] = identity
                return !isContinued
            }
            guard let hasLost else { continue }
            if hasLost, let before {
                let numbers = before.lastSequence > 0 ? "; its numbers had come to \(before.lastSequence) or more" : ""
                let detail = """
                    the server has another stream of this name than before, or an older one: what was stored and not \
                    handled everywhere may be lost\(numbers)
                    """
                report(BridgeError(.messagesLost, subject: name, detail))
            }
            return (found, identity)
        }
    }

    /// Returns the one stream whose subjects include those of a pattern.
    func stream(for pattern: String) async throws -> String {
        let found: StreamNames = try await call("STREAM.NAMES", ["subject": pattern])
        // A pattern such as `>` also includes the subjects under which the server stores states and objects.
        let names = (found.streams ?? []).filter {
            pattern.utf8.first == UInt8(ascii: "$") || !$0.isStreamOfStore
        }
        if names.count == 1 { return names[0] }
        let problem =
            names.isEmpty ? "no stream keeps it" : "several streams store parts of it: \(names.joined(separator: ", "))"
        let advice = configuration.createsStreams ? "see NATSConfiguration.streams" : "'channels streams' lists all"
        throw BridgeError(
            names.isEmpty ? .notStored : .unsupported,
            subject: pattern,
            "\(problem.singleLine); \(advice)"
        )
    }

    /// Returns when a stream was created, its last sequence, and how many subjects have messages in it.
    ///
    /// - Parameter known: What is known of the stream of states.
    func identity(ofStream name: String, known: StreamIdentity? = nil) async throws -> StreamIdentity {
        try await information(onStream: name, known: known).1
    }

    /// Returns the patterns of the subjects that a stream stores.
    func subjects(ofStream name: String) async throws -> [String] {
        try await information(onStream: name).0.config?.subjects ?? []
    }

    /// Forgets the known streams, because the server may have lost them.
    func forgetStreams() {
        knownStreams.withLock { $0 = KnownStreams() }
    }

    // MARK: Calling

    /// Sends a request to JetStream until it answers, or until the ``NATSConfiguration/requestTimeout``.
    ///
    /// - Throws: ``Refusal`` if JetStream answers with an error, ``BridgeError`` otherwise.
    func call<Answer: Decodable>(_ name: String, _ request: some Encodable) async throws -> Answer {
        var message = NATSMessage(subject: "$JS.API.\(name)", payload: Array(try JetStream.encoder.encode(request)))
        // Bound to the connection, so that its loss is known at once, and the request is sent again on the
        // next one.
        message.isBoundToConnection = true
        let deadline = ContinuousClock.now + configuration.requestTimeout
        // The first retry comes soon, because a leader that steps down has a successor within a second.
        let backoff = Backoff(first: configuration.retryInterval / 4, limit: configuration.retryInterval)
        var attempts = 0
        var silence: BridgeError?
        while true {
            attempts += 1
            let rest = ContinuousClock.now.duration(to: deadline)
            let patience = backoff.delay(before: attempts)
            let obstacle: BridgeError
            do {
                let answer = try await inbox.request(message, timeout: min(rest, patience))
                hasAnswered.store(true, ordering: .relaxed)
                do { try checkNesting(of: answer.payload) } catch {
                    throw BridgeError.unreadable("the answer", on: message.subject, error)
                }
                let json = Data(answer.payload)
                guard let refusal = try? JetStream.decoder.decode(Refusal.Envelope.self, from: json).error else {
                    do { return try JetStream.decoder.decode(Answer.self, from: json) } catch {
                        throw BridgeError.unreadable("the answer", on: message.subject, error)
                    }
                }
                guard refusal.reason == .notNow else { throw refusal }
                obstacle = BridgeError(.notConnected, subject: message.subject, refusal.description)
            } catch let error as BridgeError where error.code == .timedOut {
                // A cluster without a leader does not answer. The requests can be repeated, because all of
                // them are idempotent.
                guard rest > patience else { throw silence ?? error }
                continue
            } catch let error as BridgeError where [.notAcknowledged, .notConnected].contains(error.code) {
                obstacle = BridgeError(.notConnected, subject: message.subject, "there is no connection")
            } catch let error as BridgeError where error.code == .noResponder {
                // JetStream is disabled, or its cluster has no leader, which is temporary.
                let code: BridgeError.Code = hasAnswered.load(ordering: .relaxed) ? .notConnected : .unsupported
                obstacle = BridgeError(
                    code,
                    subject: message.subject,
                    "JetStream does not answer: start the server with -js"
                )
                silence = obstacle
            }
            try await wait(until: deadline, else: obstacle)
        }
    }

    /// Waits for a moment, or throws if that would exceed the deadline.
    func wait(until deadline: ContinuousClock.Instant, else error: BridgeError) async throws {
        let pause = Duration.milliseconds(Int.random(in: 50...150))
        guard ContinuousClock.now + pause < deadline else { throw error }
        try await Task.sleep(for: pause)
    }
}

/// The subjects that streams are known to store.
struct KnownStreams {
    private var patterns: [ChannelPattern] = []
    /// The last subject that matched a pattern. Consecutive messages usually have the same subject.
    private var lastSubject = ""

    mutating func keep(_ subject: String) -> Bool {
        if subject.hasSameBytes(as: lastSubject) { return true }
        guard patterns.contains(where: { $0.matches(subject) }) else { return false }
        lastSubject = subject
        return true
    }

    /// - Parameter texts: The patterns of the stream that stores the subject.
    mutating func add(_ texts: [String], for subject: String) {
        patterns += texts.compactMap { try? ChannelPattern(validating: $0) }.filter { !patterns.contains($0) }
        // The stream's pattern may not be valid for channels, although it includes the subject.
        if !keep(subject), let pattern = try? ChannelPattern(validating: subject) { patterns.append(pattern) }
    }
}

/// An error that JetStream answers with.
struct Refusal: Error, Decodable, CustomStringConvertible {
    struct Envelope: Decodable { var error: Refusal }
    enum Reason { case nameTaken, notFound, notNow, full, tooLarge, other }

    var code: Int
    var errCode: Int?
    var text: String?

    private enum CodingKeys: String, CodingKey {
        case code, errCode
        case text = "description"
    }

    var reason: Reason {
        switch errCode {
        // A stream with that name has another configuration.
        case 10058: .nameTaken
        // The stream or consumer does not exist.
        case 10059, 10014: .notFound
        // The cluster has no leader, or has not found all its servers yet.
        case 10004, 10005, 10007, 10008, 10009: .notNow
        // An earlier copy of the message is being stored.
        case 10158: .notNow
        // The limit of the account is reached. That passes when messages are handled.
        case 10002: .full
        // The memory or storage of the server is full.
        case 10028, 10047: .full
        // The message is larger than the stream allows.
        case 10054: .tooLarge
        // The stream is sealed. It can be created anew.
        case 10109: .notNow
        // The storage has failed in some way.
        case 10077: description.contains("exceed") ? .full : .notNow
        // JetStream is not there for this account, the stream's settings are not valid, or there are too few
        // servers for its replicas. Waiting does not change that.
        case 10035, 10036, 10039, 10052, 10074: .other
        // With 429, a server from version 2.11 on has accepted more messages than it has stored.
        default: code >= 500 || code == 429 ? .notNow : .other
        }
    }

    /// Returns the code of the error that reports this refusal.
    func code(orElse code: BridgeError.Code) -> BridgeError.Code { reason == .notFound ? .notStored : code }

    /// Whether another stream keeps some of the subjects.
    var isOverlap: Bool { errCode == 10065 }

    /// Whether the subject has another last sequence than expected.
    var isWrongSequence: Bool { errCode == 10071 || errCode == 10164 }

    var description: String { "JetStream says: \((text ?? "no reason").singleLine) (\(errCode ?? code))" }
}

/// Identifies a stream by when it was created, and says how far it has come.
struct StreamIdentity {
    let created: String
    private(set) var lastSequence: UInt64
    let subjects: Int
    /// The last message that was stored here since the stream was looked at.
    private(set) var lastAcknowledged: UInt64 = 0
    /// How often it was found to have been replaced, or to have lost messages at its end. After both, numbers
    /// are used again.
    var losses = 0

    /// Whether a number means the same message in both.
    func isSame(as other: StreamIdentity) -> Bool { created == other.created && losses == other.losses }

    /// Whether another identity is that of the same stream, which has lost nothing at its end.
    func isContinued(by other: StreamIdentity) -> Bool {
        created == other.created && lastSequence <= other.lastSequence
    }

    /// Whether another identity is that of the same stream, which has lost messages at its end or does not
    /// have them yet.
    func isAhead(of other: StreamIdentity) -> Bool { created == other.created && lastSequence > other.lastSequence }

    mutating func acknowledged(_ sequence: UInt64) {
        lastAcknowledged = max(lastAcknowledged, sequence)
        raise(to: sequence)
    }

    mutating func raise(to sequence: UInt64) { lastSequence = max(lastSequence, sequence) }
}

private struct StreamNames: Decodable { var streams: [String]? }

struct StreamInformation: Decodable {
    struct State: Decodable {
        var lastSeq: UInt64?
        var numSubjects: Int?
    }

    var config: ServerSettings?
    var created: String?
    var state: State?

    var identity: StreamIdentity {
        StreamIdentity(created: created ?? "", lastSequence: state?.lastSeq ?? 0, subjects: state?.numSubjects ?? 0)
    }
}

extension WireRules {
    /// Throws unless the text can be the name of a stream or consumer, which is one segment of a subject.
    static func check(token: String) throws {
        try check(subject: token)
        if token.utf8.contains(where: "./\\".utf8.contains) {
            throw BridgeError(.invalidName, subject: token.singleLine, "the name of a stream is a single token")
        }
    }
}

extension String {
    /// Whether a stream of this name is a bucket of a key-value or object store.
    var isStreamOfStore: Bool { utf8.starts(with: "KV_".utf8) || utf8.starts(with: "OBJ_".utf8) }
}
#endif
