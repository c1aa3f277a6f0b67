internal import Channels

/// Opens once, and resumes every task that is waiting for it, in the order in which they began to wait. Waiting does not
/// block a thread.
///
/// `state` is guarded by its lock; tasks are resumed without it.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Int: FirstResult<Void>] = [:]
        var lastNumber = 0
    }

    private let state = Locked(State())

    package init() {}

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            return state.waiting
        }
        for (_, opened) in waiting.sorted(by: { $0.key < $1.key }) { opened.finish(.success(())) }
    }

    /// Suspends until the latch is open.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func wait() async throws {
        if isOpen { return }
        let opened = FirstResult<Void>()
        let (isOpen, number) = state.withLock { state in
            state.lastNumber += 1
            state.waiting[state.lastNumber] = opened
            return (state.isOpen, state.lastNumber)
        }
        defer { _ = state.withLock { $0.waiting.removeValue(forKey: number) } }
        if !isOpen { try await opened.valueUnlessCancelled() }
    }

    /// Suspends until the latch is open, a time has passed or the task is cancelled.
    ///
    /// - Returns: Whether the latch is open.
    @discardableResult
    package func wait(atMost time: Duration, clock: any Clock<Duration>) async -> Bool {
        try? await withTimeLimit(time, clock: clock) { try await self.wait() }
        return isOpen
    }
}
