#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// What the outside asks of a connection, in the order of the calls, until its thread does it.
///
/// `state` is guarded by its lock, under which nothing is called.
final class FileMailbox: Sendable {
    typealias Request = @Sendable (FileConnection) -> Void

    private struct State {
        var requests: [Request] = []
        /// Whether the thread sleeps, so that it has to be woken.
        var isAsleep = false
        /// Whether the connection has ended, and does nothing more.
        var isClosed = false
        /// Of the messages that were given to it and are not committed.
        var (count, bytes) = (0, 0)
    }

    /// With so much in the buffer, publishing waits for its own commit.
    private static let (mostMessages, mostBytes) = (4_096, 16 << 20)

    private let state = Locked(State())
    let wakeUp: WakeUp

    init() throws { wakeUp = try WakeUp() }

    /// Asks for something, which is done soon. Returns false if the connection has ended.
    @discardableResult
    func send(_ request: @escaping Request) -> Bool {
        let (isTaken, wakes) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.requests.append(request)
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if wakes { wakeUp.ring() }
        return isTaken
    }

    /// Makes a change, and returns its result once it is committed. If the task is cancelled before, the change is
    /// still made.
    func perform<Result: Sendable>(
        _ kind: CommitQueue.Change.Kind,
        _ change: @escaping @Sendable (Database, FileSession) throws -> Result
    ) async throws -> Result {
        try await ask { connection, finish in
            var result: Result?
            connection.add(
                CommitQueue.Change(kind: kind) {
                    result = try change($0, $1)
                } end: { error in
                    finish(error.map { .failure($0) } ?? .success(result!))  // it was made before the commit
                }
            )
        }
    }

    /// Asks for something that ends later.
    func ask<Result: Sendable>(
        _ request:
            @escaping @Sendable (
                FileConnection, _ finish: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
            ) -> Void
    ) async throws -> Result {
        let result = FirstResult<Result>()
        guard send({ connection in request(connection) { result.finish($0) } }) else { throw BridgeError(.closed) }
        return try await result.valueUnlessCancelled()
    }

    // MARK: The buffer

    /// Counts a message that is to be stored. Returns whether its commit has to be waited for.
    func reserve(_ bytes: Int) -> Bool {
        state.withLock { state in
            (state.count, state.bytes) = (state.count + 1, state.bytes + bytes)
            return state.count > Self.mostMessages || state.bytes > Self.mostBytes
        }
    }

    func release(_ bytes: Int) {
        state.withLock { ($0.count, $0.bytes) = ($0.count - 1, $0.bytes - bytes) }
    }

    // MARK: For the thread

    var isEmpty: Bool { state.withLock { $0.requests.isEmpty } }

    /// The requests since the last time.
    func take() -> [Request] {
        state.withLock { state in
            defer { state.requests = [] }
            return state.requests
        }
    }

    /// Whether the thread may sleep, from when on a request wakes it.
    func fallsAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.requests.isEmpty
            return state.isAsleep
        }
    }

    func wakes() { state.withLock { $0.isAsleep = false } }

    /// Whether nothing was left, so that it is closed now.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = state.requests.isEmpty
            return state.isClosed
        }
    }
}
#endif
