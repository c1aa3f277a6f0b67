/// Lets one task wait for the first of several results: an answer, a timeout or its own cancellation. Guarded
/// by its lock; the continuation is resumed without it.
package final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
    }

    private let state = Locked(State())

    package init() {}

    /// Settles the result, unless it is settled.
    package func finish(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }

    /// Suspends until there is a result. Called once. Only ``finish(_:)`` ends the wait, not cancellation.
    package func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<Value, any Error>? in
                if state.result == nil { state.continuation = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
