/// Lets one task wait for the first of several results: an answer, a timeout or its own cancellation. A lock guards the
/// state; the continuation is resumed without it.
package final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
    }

    private let state = Locked(State())

    package init() {}

    /// Settles the result, unless it is already settled.
    ///
    /// - Returns: Whether this call settled it.
    @discardableResult
    package func finish(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock { state in
            let isFirst = state.result == nil
            if isFirst { state.result = result }
            defer { state.continuation = nil }
            return (isFirst, state.continuation)
        }
        continuation?.resume(with: result)
        return isFirst
    }

    /// Suspends until there is a result. Call it only once. Only ``finish(_:)`` ends the wait, not cancellation.
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
