package import Channels

extension FirstResult {
    /// Waits for the result, once, and at most until the task is cancelled.
    ///
    /// - Throws: The error it was settled with, or `CancellationError`.
    package func valueUnlessCancelled() async throws -> Value {
        try await withTaskCancellationHandler {
            try await value()
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    /// Waits for the result, once, and at most for a time.
    ///
    /// - Throws: The error it was settled with, the given error when the time is up, or `CancellationError`.
    ///   Zero or less throws at once.
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
