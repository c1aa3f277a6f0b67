#if NATS
import ChannelsBridge

/// Creates the missing streams, once, when they are first needed.
actor StreamSetup {
    private let jetStream: JetStream
    private let configuration: NATSConfiguration
    private var messages: Task<Void, any Error>?
    private var states: Task<Void, any Error>?
    nonisolated let bucket = Bucket()
    private let onLostValues: @Sendable () -> Void
    private var isClosed = false

    init(
        _ jetStream: JetStream,
        _ configuration: NATSConfiguration,
        onLostValues: @escaping @Sendable () -> Void
    ) {
        self.jetStream = jetStream
        self.configuration = configuration
        self.onLostValues = onLostValues
    }

    /// Ends what is being created, and creates nothing more.
    func close() async {
        isClosed = true
        let tasks = [messages, states]
        for task in tasks { task?.cancel() }
        for task in tasks { _ = await task?.result }
    }

    /// Checks again when they are needed next: the server may have lost them.
    func forget() {
        (messages, states) = (nil, nil)
    }

    /// Runs a body that needs the streams, and repeats it once if the server has lost them since.
    nonisolated func preparing<Result>(
        _ prepare: (StreamSetup) async throws -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await prepare(self)
        do {
            return try await body()
        } catch let error as BridgeError where error.code == .unsupported {
            await forget()
            try await prepare(self)
            return try await body()
        }
    }

    /// The streams of the configuration.
    func prepareMessages() async throws {
        if isClosed { throw BridgeError(.closed) }
        let task =
            messages
            ?? Task { [jetStream, configuration] in
                guard configuration.createsStreams else { return }
                var failure: (any Error)?
                // One that cannot be created keeps no other one from being so.
                for stream in configuration.streams {
                    do { try await jetStream.create(stream) } catch { failure = failure ?? error }
                }
                if let failure { throw failure }
            }
        messages = task
        do { try await task.value } catch {
            messages = nil
            throw BridgeError(wrapping: error)
        }
    }

    /// Looks again whether the bucket of the states is there, and the same as before.
    func checkStates() async throws {
        states = nil
        try await prepareStates()
    }

    /// The bucket of the states.
    func prepareStates() async throws {
        if isClosed { throw BridgeError(.closed) }
        let task =
            states
            ?? Task { [jetStream, configuration, bucket, onLostValues] in
                guard configuration.createsStreams else { return }
                var stream = NATSStream(
                    configuration.stateStream,
                    subjects: [configuration.statePrefix + ">"],
                    replicas: configuration.stateReplicas
                )
                stream.keepsLastValues = true
                try await jetStream.create(stream)
                let known = bucket.highest
                let (created, last) = try await jetStream.identity(ofStream: configuration.stateStream)
                if bucket.identify(created: created, lastSequence: last, known: known) { onLostValues() }
            }
        states = task
        do { try await task.value } catch {
            states = nil
            throw BridgeError(wrapping: error)
        }
    }
}
#endif
