package import Testing

/// Gives way to other tasks until a value is as it should be. What takes ten minutes, however busy the machine is,
/// hangs: then it says what the value was.
package func wait<Value>(
    for value: @autoclosure () -> Value,
    sourceLocation: SourceLocation = #_sourceLocation,
    until isEnough: (Value) -> Bool
) async {
    let end = ContinuousClock.now + .seconds(600)
    while !isEnough(value()) {
        guard ContinuousClock.now < end else {
            Issue.record("waited here for ten minutes, and had \(value())", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// Tries again until it succeeds, or the task is cancelled.
@discardableResult
package func retry<Value>(_ body: () async throws -> Value) async throws -> Value {
    while true { do { return try await body() } catch { try Task.checkCancellation() } }
}

extension Duration {
    /// How long to wait for what a loaded machine does late, and then does: longer than any of that, and shorter than
    /// what a test that hangs is given.
    package static let patience = Duration.seconds(240)
}

extension Trait where Self == HangLimit {
    /// Ends a test that hangs: see ``HangLimit``.
    package static var hangLimit: Self { HangLimit() }
}

/// Ends a test that waits for what does not come.
///
/// The limit is ten minutes in which the pool runs tasks: it passes slowly where the machine, or other tests,
/// leave the pool no time. At the limit the test is cancelled. Its waits return, so that its expectations say what
/// there was instead.
package struct HangLimit: TestTrait, SuiteTrait, TestScoping {
    /// Proof of `@unchecked`: a task may be cancelled from any thread, and the handle is used only while the body of
    /// `withUnsafeCurrentTask` runs.
    private struct Running: @unchecked Sendable { let task: UnsafeCurrentTask? }

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withUnsafeCurrentTask { task in
            let running = Running(task: task)
            let watchdog = Task {
                for _ in 0..<600 { try await Task.sleep(for: .seconds(1)) }
                Issue.record(
                    "\(test.name) still runs after ten minutes; it is cancelled here, and what it waits for ends",
                    sourceLocation: test.sourceLocation
                )
                running.task?.cancel()
            }
            let result: Result<Void, any Error>
            do { result = .success(try await function()) } catch { result = .failure(error) }
            watchdog.cancel()
            // The handle must not be used after this.
            _ = await watchdog.result
            try result.get()
        }
    }
}
