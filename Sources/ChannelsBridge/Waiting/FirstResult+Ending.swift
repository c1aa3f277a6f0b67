package import Channels

extension FirstResult {
    /// Waits for the result, or until the task is cancelled. May be called once.
    ///
    /// - Throws: The error it was settled with, or `CancellationError`.
    package func valueUnlessCancelled() async throws -> Value {
        try await withTaskCancellationHandler {
            try await value()
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    /// Waits for the result for at most a time. May be called once.
    ///
    /// - Throws: The error it was settled with, the given error when the time is up, or `CancellationError`.
    ///   With zero or less, it throws at once.
    package func value(timeout: Duration, clock: any Clock<Duration>, else error: BridgeError) async throws -> Value {
        if timeout <= .zero { finish(.failure(error)) }
        let timer = Task.detached {
            try await clock.sleep(atMost: timeout)
            self.finish(.failure(error))
        }
        defer { timer.cancel() }
        return try await valueUnlessCancelled()
    }
}
