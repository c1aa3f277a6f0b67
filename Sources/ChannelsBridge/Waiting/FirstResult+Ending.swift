package import Channels

extension FirstResult {
    /// Waits for the result, once, and at most until the task is cancelled.
    ///
    /// - Throws: What it was settled with, or `CancellationError`.
    package func valueUnlessCancelled() async throws -> Value {
        try await withTaskCancellationHandler {
            try await value()
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    /// Waits for the result, once, and at most for a time.
    ///
    /// - Throws: What it was settled with, the error given where time runs out, or `CancellationError`. Zero
    ///   or less is over at once.
    package func value(within time: Duration, clock: any Clock<Duration>, else error: BridgeError) async throws -> Value
    {
        if time <= .zero { finish(.failure(error)) }
        let timer = Task.detached {
            try await clock.sleep(atMost: time)
            self.finish(.failure(error))
        }
        defer { timer.cancel() }
        return try await valueUnlessCancelled()
    }
}
