#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// The requests to a connection, in the order of the calls, until its thread carries them out.
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
        /// The number and size of the messages that are not committed yet.
        var (count, bytes) = (0, 0)
    }

    /// With this much in the buffer, publishing waits for its own commit.
    private static let (mostMessages, mostBytes) = (4_096, 16 << 20)

    private let state = Locked(State())
    let wakeUp: WakeUp

    init() throws { wakeUp = try WakeUp() }

    /// Adds a request, which is carried out soon. Returns false if the connection has ended.
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

    /// Makes a change, and returns its result once it is committed. If the task is cancelled first, the
    /// change is still made.
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

    /// Adds a request that ends later, and waits for its result.
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

    /// Counts a message to be stored. Returns whether the caller has to wait for its commit.
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

    /// Removes and returns the requests.
    func take() -> [Request] {
        state.withLock { state in
            defer { state.requests = [] }
            return state.requests
        }
    }

    /// Returns whether the thread may sleep. If so, a request wakes it from now on.
    func fallsAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.requests.isEmpty
            return state.isAsleep
        }
    }

    func wakes() { state.withLock { $0.isAsleep = false } }

    /// Closes the mailbox if it is empty. Returns whether it is closed.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = state.requests.isEmpty
            return state.isClosed
        }
    }
}
#endif
