internal import Channels

/// Where one task waits for the first of several outcomes.
///
/// Guarded by its lock; the continuation is resumed without it.
package final class Answer<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
    }

    private let state = Locked(State())

    package init() {}

    /// Settles the outcome, if it is not settled yet.
    package func finish(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }

    /// Waits for the outcome, once, and at most for a time.
    ///
    /// - Throws: What it was settled with, the error given where time runs out, or `CancellationError`.
    package func value(within time: Duration, clock: any Clock<Duration>, else error: BridgeError) async throws -> Value
    {
        let timer = Task.detached {
            try await clock.sleep(for: time)
            self.finish(.failure(error))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if state.result == nil { state.continuation = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }
}
