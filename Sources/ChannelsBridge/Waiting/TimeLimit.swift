internal import Channels

/// Runs a body, cancels it when a time has passed, and returns its result.
@discardableResult
func withTimeLimit<Value: Sendable>(
    _ time: Duration,
    clock: any Clock<Duration>,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask {
            try? await clock.sleep(atMost: time)
            return nil
        }
        group.addTask { try await body() }
        var value: Value?
        for try await ended in group {
            value = value ?? ended
            group.cancelAll()
        }
        // The group has ended without throwing, so the body has returned a value.
        return value!
    }
}
