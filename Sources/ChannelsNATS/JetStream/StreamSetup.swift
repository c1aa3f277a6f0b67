#if NATS
import ChannelsBridge
import Synchronization

/// Creates the missing streams, once, when they are first needed.
actor StreamSetup {
    private let jetStream: JetStream
    private let configuration: NATSConfiguration
    private var messages: Task<Void, any Error>?
    private var states: Task<Void, any Error>?
    nonisolated let bucket = Bucket()
    private let onLostValues: @Sendable () -> Void
    private let onDifference: @Sendable (BridgeError) -> Void
    /// What has been reported, by stream: once, unless it changes.
    private var differences: [String: [String]] = [:]
    /// How often everything was forgotten.
    private var age = 0
    private var isClosed = false
    /// Why streams of messages could not be created, and until when that is not tried again.
    private var failed: (error: BridgeError, until: ContinuousClock.Instant)?
    private var lastForgotten: ContinuousClock.Instant?
    private static let pause = Duration.seconds(1)
    /// Whether the streams of messages are there: asked for each message.
    private let hasMessages = Atomic<Bool>(false)

    init(
        _ jetStream: JetStream,
        _ configuration: NATSConfiguration,
        onLostValues: @escaping @Sendable () -> Void,
        onDifference: @escaping @Sendable (BridgeError) -> Void
    ) {
        self.jetStream = jetStream
        self.configuration = configuration
        self.onLostValues = onLostValues
        self.onDifference = onDifference
    }

    /// Ends what is being created, and creates nothing more.
    func close() async {
        isClosed = true
        let tasks = [messages, states]
        for task in tasks { task?.cancel() }
        for task in tasks { _ = await task?.result }
    }

    /// Checks again when they are needed next: the server may have lost them. What is being asked now is not waited
    /// for: the answer may have been lost with the connection.
    func forget() {
        hasMessages.store(false, ordering: .releasing)
        for task in [messages, states] { task?.cancel() }
        (messages, states, failed) = (nil, nil, nil)
        age += 1
    }

    /// Runs a body that needs the streams, and repeats it once if the server has lost them since. Where some cannot
    /// be created, the one that it needs may be there.
    nonisolated func preparing<Result>(
        _ prepare: (StreamSetup) async throws -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        var isRepeated = false
        while true {
            var failure: BridgeError?
            do { try await prepare(self) } catch let error as BridgeError where error.code.saysThatItCannotBe {
                failure = error
            }
            do {
                return try await body()
            } catch let error as BridgeError where error.code == .unsupported {
                if isRepeated { throw failure ?? error }
                await forget(after: failure)
                isRepeated = true
            }
        }
    }

    /// Forgets the streams, because one is missing; where one cannot be created, not more than once a second: somebody
    /// else has found the same.
    private func forget(after failure: BridgeError?) {
        let now = ContinuousClock.now
        if failure != nil, let lastForgotten, lastForgotten + Self.pause > now { return }
        lastForgotten = now
        forget()
    }

    private func create(_ stream: NATSStream) async throws {
        let found = try await jetStream.create(stream)
        guard differences.updateValue(found, forKey: stream.name) ?? [] != found, !found.isEmpty else { return }
        let detail = "the stream is used as it is: \(found.joined(separator: "; "))"
        onDifference(BridgeError(.settingsDiffer, subject: stream.name, detail: detail.singleLine))
    }

    /// The streams of the configuration.
    nonisolated func prepareMessages() async throws {
        if !hasMessages.load(ordering: .acquiring) { try await createStreams() }
    }

    private func createStreams() async throws {
        if let failed, failed.until > .now { throw failed.error }
        do { try await createMissing() } catch let error as BridgeError where error.code.saysThatItCannotBe {
            // Others are published to meanwhile.
            failed = (error, .now + Self.pause)
            throw error
        }
    }

    private func createMissing() async throws {
        try await untilKnown {
            let task =
                messages
                ?? Task { [configuration] in
                    guard configuration.createsStreams else { return }
                    var failure: (any Error)?
                    // One that cannot be created keeps no other one from being so.
                    for stream in configuration.streams {
                        do { try await create(stream) } catch { failure = failure ?? error }
                    }
                    if let failure { throw failure }
                }
            messages = task
            return task
        }
        hasMessages.store(true, ordering: .releasing)
    }

    /// Waits for what is being created; once more where that was forgotten meanwhile.
    private func untilKnown(_ begin: () -> Task<Void, any Error>) async throws {
        while true {
            if isClosed { throw BridgeError(.closed) }
            let begun = age
            let task = begin()
            let result = await task.result
            if begun == age {
                if case .failure(let error) = result {
                    if messages == task { messages = nil }
                    if states == task { states = nil }
                    throw BridgeError(wrapping: error)
                }
                return
            }
            try Task.checkCancellation()
        }
    }

    /// Looks again whether the bucket of the states is there, and the same as before.
    func checkStates() async throws {
        states = nil
        try await prepareStates()
    }

    /// Looks whether the bucket has lost values, which no server tells those who watch.
    ///
    /// - Returns: Whether it has since that was asked last, here or by ``prepareStates()``.
    func hasLostStates() async throws -> Bool {
        guard configuration.createsStreams else { return false }
        let before = bucket.losses
        try await identifyBucket()
        return bucket.losses != before
    }

    private func identifyBucket() async throws {
        let known = bucket.highest
        let found = try await jetStream.identity(ofStream: configuration.stateStream)
        if bucket.identify(found, known: known) { onLostValues() }
    }

    /// The bucket of the states.
    func prepareStates() async throws {
        try await untilKnown {
            let task =
                states
                ?? Task { [configuration] in
                    guard configuration.createsStreams else { return }
                    var stream = NATSStream(
                        configuration.stateStream,
                        subjects: [configuration.statePrefix + ">"],
                        replicas: configuration.stateReplicas
                    )
                    stream.keepsLastValues = true
                    try await create(stream)
                    try await identifyBucket()
                }
            states = task
            return task
        }
    }
}

extension BridgeError.Code {
    /// Whether waiting does not help.
    fileprivate var saysThatItCannotBe: Bool { self == .unsupported || self == .permissionDenied }
}
#endif
