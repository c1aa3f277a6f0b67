internal import Channels

/// Opens once, and resumes every task that is waiting for it. Waiting does not block a thread.
///
/// `state` is guarded by its lock; tasks are resumed without it.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [ObjectIdentifier: FirstResult<Void>] = [:]
    }

    private let state = Locked(State())

    package init() {}

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            return state.waiting
        }
        for opened in waiting.values { opened.finish(.success(())) }
    }

    /// Suspends until the latch is open.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func wait() async throws {
        if isOpen { return }
        let opened = FirstResult<Void>()
        let isOpen = state.withLock { state in
            state.waiting[ObjectIdentifier(opened)] = opened
            return state.isOpen
        }
        defer { _ = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(opened)) } }
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
