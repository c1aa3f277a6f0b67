#if NATS
import ChannelsBridge
import Synchronization

/// Creates missing streams once, when they are first needed.
actor StreamSetup {
    private let jetStream: JetStream
    private let configuration: NATSConfiguration
    enum Storage { case messages, states }
    /// The tasks that create the streams of messages and the bucket of states, or have created them.
    private var tasks: [Storage: Task<Void, any Error>] = [:]
    nonisolated let bucket = Bucket()
    /// The reported differences by stream. They are reported again only if they change.
    private var differences: [String: [String]] = [:]
    /// How often everything was forgotten.
    private var age = 0
    private var isClosed = false
    /// Why streams of messages could not be created. It is tried again once one that is needed is missing.
    private var failed: BridgeError?
    private var lastForgotten: ContinuousClock.Instant?
    /// Whether the streams of messages are there.
    private let hasMessages = Atomic<Bool>(false)

    init(_ jetStream: JetStream, _ configuration: NATSConfiguration) {
        (self.jetStream, self.configuration) = (jetStream, configuration)
    }

    /// Cancels pending creations, and creates nothing more.
    func close() async {
        isClosed = true
        let tasks = tasks.values
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
    }

    /// Makes the streams be checked again when they are next needed, because the server may have lost them.
    /// It does not wait for pending requests, whose answers may be lost.
    func forget() {
        hasMessages.store(false, ordering: .releasing)
        for task in tasks.values { task.cancel() }
        (tasks, failed) = ([:], nil)
        age += 1
    }

    /// Runs a body that needs the streams, and repeats it once if the server has lost them since. The body
    /// runs even if some streams of messages cannot be created, because the one that it needs may be there.
    nonisolated func preparing<Result>(_ storage: Storage, _ body: () async throws -> Result) async throws -> Result {
        var isRepeated = false
        while true {
            var failure: BridgeError?
            do {
                // Read without the actor, because every message needs it.
                if storage == .states || !hasMessages.load(ordering: .acquiring) { try await prepare(storage) }
            } catch let error as BridgeError
                where error.code.disposition == .reconfigure || storage == .messages && error.code.disposition != .end
            {
                failure = error
            }
            do {
                return try await body()
            } catch let error as BridgeError where error.code == .unsupported || error.code == .notStored {
                if isRepeated { throw failure ?? error }
                await forget(after: failure)
                isRepeated = true
            }
        }
    }

    /// Forgets the streams because one is missing. If one could not be created, this happens at most once a
    /// second.
    private func forget(after failure: BridgeError?) {
        let now = ContinuousClock.now
        if failure != nil, let lastForgotten, lastForgotten + .seconds(1) > now { return }
        lastForgotten = now
        forget()
    }

    private func create(_ stream: NATSStream) async throws {
        let found = try await jetStream.create(stream)
        guard differences.updateValue(found, forKey: stream.name) ?? [] != found, !found.isEmpty else { return }
        let detail = "the stream is used unchanged: \(found.joined(separator: "; "))"
        jetStream.report(BridgeError(.settingsDiffer, subject: stream.name, detail: detail.singleLine))
    }

    /// Creates the streams of messages or the bucket of states, as far as they are missing.
    func prepare(_ storage: Storage) async throws {
        guard storage == .messages else { return try await untilKnown(.states) }
        if let failed { throw failed }
        do { try await untilKnown(.messages) } catch let error as BridgeError {
            failed = error.code.disposition == .end ? nil : error
            throw error
        }
        hasMessages.store(true, ordering: .releasing)
    }

    /// Creates the stream of dead letters, if no other stream stores them.
    func prepareLetters(on subject: String, under prefix: String) async throws {
        guard configuration.createsStreams else { return }
        do { return try await jetStream.checkStream(of: subject) } catch let error as BridgeError
            where error.code == .notStored
        {}
        let name = prefix.uppercased().replacing(".", with: "_")
        try await create(NATSStream(name, subjects: [prefix + ".>"]))
    }

    /// Checks again whether the bucket of the states is there, and is the same as before.
    func checkStates() async throws {
        tasks[.states] = nil
        try await untilKnown(.states)
    }

    /// Waits for the creation of the streams or the bucket, and starts again if it was forgotten meanwhile.
    private func untilKnown(_ storage: Storage) async throws {
        while true {
            if isClosed { throw BridgeError(.closed) }
            let begun = age
            let task = tasks[storage] ?? Task { try await create(storage) }
            tasks[storage] = task
            let result = await task.result
            if begun == age {
                guard case .failure(let error) = result else { return }
                if tasks[storage] == task { tasks[storage] = nil }
                throw BridgeError(wrapping: error)
            }
            try Task.checkCancellation()
        }
    }

    private func create(_ storage: Storage) async throws {
        guard configuration.createsStreams else { return }
        switch storage {
        case .messages:
            var failure: (any Error)?
            // The others are created even if one cannot be.
            for stream in configuration.streams {
                do { try await create(stream) } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
        case .states:
            var stream = NATSStream(configuration.stateStream, subjects: [configuration.statePrefix + ">"])
            stream.keepsLastValues = true
            try await create(stream)
            try await identifyBucket()
        }
    }

    /// Looks whether the bucket has lost values, which the server does not report, and creates it again if it is gone.
    func lookAtStates() async throws { try await create(.states) }

    private func identifyBucket() async throws {
        let mark = bucket.mark
        let found = try await jetStream.identity(ofStream: configuration.stateStream, known: mark.bucket)
        if bucket.identify(found, known: mark) { jetStream.onEvent(.lastValuesLost(subject: nil)) }
    }
}
#endif
