internal import Channels

/// Opens once, and resumes every task that waits for it. Waiting does not block a thread.
///
/// Guarded by its lock; continuations are resumed without it.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var nextNumber = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Locked(State())

    package init() {}

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    package func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }

    /// Suspends until the latch is open.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    package func wait() async throws {
        if isOpen { return }
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isOpen = state.withLock { state -> Bool? in
                    if state.isOpen { return true }
                    // The handler below runs before this, or finds the continuation.
                    if Task.isCancelled { return nil }
                    state.waiting[number] = continuation
                    return false
                }
                switch isOpen {
                case true?: continuation.resume()
                case nil: continuation.resume(throwing: CancellationError())
                case false?: break
                }
            }
        } onCancel: {
            let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Suspends until the latch is open, a time has passed or the task is cancelled.
    ///
    /// - Returns: Whether the latch is open.
    @discardableResult
    package func wait(atMost time: Duration, clock: any Clock<Duration>) async -> Bool {
        await withTimeLimit(time, clock: clock) { try? await self.wait() }
        return isOpen
    }
}
