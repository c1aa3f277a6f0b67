internal import ChannelsBridge
internal import Foundation
internal import Synchronization

/// The jobs that a transport sends to the thread of its session, and what both need to know.
///
/// `state` is guarded by its lock, under which no job runs.
final class Mailbox: Sendable {
    typealias Job = @Sendable (Session) -> Void

    private struct State {
        var jobs: [Job] = []
        var hasEnded = false
        var isConnected = false
        /// The number of bytes waiting to be stored.
        var bytes = 0
        /// Until when the session may use its connection; nil for no limit.
        var end: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let limit: Int
    /// A pipe with one byte in it if there may be jobs.
    let descriptor: Int32
    private let writing: Int32

    init(limit: Int) throws {
        self.limit = limit
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw BridgeError(.notConnected, detail: "there is no pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (descriptor, writing) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writing)
    }

    /// Sends a job to the thread. Returns false if the session has ended.
    @discardableResult
    func send(_ job: @escaping Job) -> Bool {
        let isSent = state.withLock { state in
            if !state.hasEnded { state.jobs.append(job) }
            return !state.hasEnded
        }
        var byte: UInt8 = 0
        if isSent { _ = write(writing, &byte, 1) }
        return isSent
    }

    /// Sends a job to the thread, and waits for its result.
    func ask<Value: Sendable>(_ job: @escaping @Sendable (Session, Once<Value>) -> Void) async throws -> Value {
        let once = Once<Value>()
        if !send({ job($0, once) }) { throw BridgeError(.closed) }
        return try await once.value()
    }

    func take() -> [Job] {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) == bytes.count {}
        return state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Stops accepting jobs, and returns the remaining ones.
    func finish() -> [Job] {
        state.withLock { state in
            state.hasEnded = true
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    // MARK: What both sides know

    var isConnected: Bool {
        get { state.withLock { $0.isConnected } }
        set { state.withLock { $0.isConnected = newValue } }
    }

    /// Reserves memory for a message. Returns whether the buffer is so full that the publisher has to wait
    /// until the message is stored.
    func reserve(_ bytes: Int, durable: Bool) throws -> Bool {
        let (isConnected, waiting) = state.withLock { state in
            defer { if state.isConnected || !durable && state.bytes < limit { state.bytes += bytes } }
            return (state.isConnected, state.bytes)
        }
        if isConnected { return waiting + bytes > limit }
        guard !durable else { throw BridgeError(.notConnected, detail: "there is no connection to the server") }
        guard waiting < limit else {
            throw BridgeError(
                .bufferFull,
                detail: "\(waiting) bytes wait for a connection, the bufferLimit is \(limit)"
            )
        }
        return false
    }

    func release(_ bytes: Int) { state.withLock { $0.bytes -= bytes } }

    /// Makes calls of the session that wait for the server fail from this time on.
    func abandon(at end: ContinuousClock.Instant) { state.withLock { $0.end = end } }

    var isAbandoned: Bool { state.withLock { $0.end.map { $0 <= .now } ?? false } }
}

/// A result for which one task waits. Only the first one counts.
struct Once<Value: Sendable>: Sendable {
    private let ends = AsyncThrowingStream<Value, any Error>.makeStream()

    func finish(_ result: Result<Value, any Error>) {
        switch result {
        case .success(let value):
            ends.continuation.yield(value)
            ends.continuation.finish()
        case .failure(let error): ends.continuation.finish(throwing: error)
        }
    }

    /// Waits for the result, or until the task is cancelled.
    func value() async throws -> Value {
        for try await value in ends.stream { return value }
        throw CancellationError()
    }
}
