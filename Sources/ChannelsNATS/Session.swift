#if NATS
import Channels
import ChannelsBridge

/// What belongs to one connection of a transport.
///
/// `state` guards what was opened on the connection.
final class Session: Sendable {
    private struct State {
        var subscriptions: [NATSSubscription] = []
        var durables: [DurableSubscription] = []
        var watches: [LastValueWatch] = []
        /// How often the connection has been restored.
        var restorations = 0
        var isClosed = false
    }

    let connection: NATSConnection
    let inbox: ReplyInbox
    let jetStream: JetStream
    let streams: StreamSetup
    private let state = Locked(State())

    /// - Parameter onLostValues: Called when the states are found to be lost.
    init(
        _ connection: NATSConnection,
        _ inbox: ReplyInbox,
        _ configuration: NATSConfiguration,
        onLostValues: @escaping @Sendable () -> Void
    ) {
        self.connection = connection
        self.inbox = inbox
        jetStream = JetStream(inbox, configuration)
        streams = StreamSetup(jetStream, configuration, onLostValues: onLostValues)
    }

    func keep(_ subscription: NATSSubscription) async throws {
        let isKept = state.withLock { state in
            if !state.isClosed { state.subscriptions.append(subscription) }
            return !state.isClosed
        }
        if !isKept {
            await subscription.cancel()
            throw BridgeError(.closed, subject: subscription.subject)
        }
    }

    func keep(_ durable: DurableSubscription) async throws {
        let isKept = state.withLock { state in
            if !state.isClosed { state.durables.append(durable) }
            return !state.isClosed
        }
        if !isKept {
            await durable.close()
            throw BridgeError(.closed)
        }
    }

    /// - Returns: Whether the session is open, and has the watch.
    func keep(_ watch: LastValueWatch) -> Bool {
        state.withLock { state in
            if !state.isClosed { state.watches.append(watch) }
            return !state.isClosed
        }
    }

    func forget(_ watch: LastValueWatch) async {
        await watch.close()
        state.withLock { $0.watches.removeAll { $0 === watch } }
    }

    /// Called after a reconnection. The C client has subscribed again, but the server may have lost the
    /// streams and their consumers.
    ///
    /// Retries with growing delays until everything is restored, the session is closed, or the next
    /// reconnection takes over.
    func restore(onFailure: @escaping @Sendable (BridgeError) -> Void) {
        jetStream.forgetStreams()
        let turn = state.withLock { state in
            state.restorations += 1
            return state.restorations
        }
        Task {
            var pause = Duration.milliseconds(250)
            while true {
                let (isWanted, durables, watches) = state.withLock { state in
                    (!state.isClosed && state.restorations == turn, state.durables, state.watches)
                }
                guard isWanted, !durables.isEmpty || !watches.isEmpty else { return }
                do {
                    await streams.forget()
                    if !watches.isEmpty { try await streams.prepareStates() }
                    for watch in watches { watch.restart() }
                    if !durables.isEmpty { try await streams.prepareMessages() }
                    for durable in durables { try await durable.restart() }
                    return
                } catch {
                    onFailure(BridgeError(wrapping: error))
                }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(10))
            }
        }
    }

    /// Stops receiving. Unsettled messages are returned to the server.
    func stopReceiving() async {
        let (subscriptions, durables, watches) = state.withLock { state in
            state.isClosed = true
            defer { (state.subscriptions, state.durables, state.watches) = ([], [], []) }
            return (state.subscriptions, state.durables, state.watches)
        }
        for watch in watches { await watch.close() }
        // At once: each may wait for a second.
        await withTaskGroup(of: Void.self) { group in
            for durable in durables { group.addTask { await durable.close() } }
        }
        for subscription in subscriptions { await subscription.cancel() }
    }
}

/// Creates the missing streams, once, when they are first needed.
actor StreamSetup {
    private let jetStream: JetStream
    private let configuration: NATSConfiguration
    private var messages: Task<Void, any Error>?
    private var states: Task<Void, any Error>?
    nonisolated let bucket = Bucket()
    private let onLostValues: @Sendable () -> Void

    init(
        _ jetStream: JetStream,
        _ configuration: NATSConfiguration,
        onLostValues: @escaping @Sendable () -> Void
    ) {
        self.jetStream = jetStream
        self.configuration = configuration
        self.onLostValues = onLostValues
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
        let task =
            messages
            ?? Task { [jetStream, configuration] in
                guard configuration.createsStreams else { return }
                for stream in configuration.streams { try await jetStream.create(stream) }
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

extension NATSConfiguration {
    /// The stream of the bucket, as the key-value store of JetStream names it.
    var stateStream: String { "KV_\(stateBucket)" }
    /// The prefix of the subjects of states.
    var statePrefix: String { "$KV.\(stateBucket)." }
}

extension BridgeError {
    /// The error that a transport throws: this one, or the refusal of JetStream.
    init(wrapping error: any Error) {
        switch error {
        case let error as BridgeError: self = error
        case let refusal as Refusal: self.init(.unsupported, refusal.description)
        default: self.init(.transportFailure, underlyingError: error)
        }
    }
}
#endif
