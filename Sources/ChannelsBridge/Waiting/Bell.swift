internal import Channels

/// Wakes the one task that waits. If none is waiting, one ring is remembered for the next wait.
///
/// `state` is guarded by its lock; continuations are resumed without it.
final class Bell: Sendable {
    private struct State {
        var hasRung = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func ring() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiting = state.waiting else {
                state.hasRung = true
                return nil
            }
            state.waiting = nil
            return waiting
        }
        waiting?.resume()
    }

    /// Suspends until the bell rings or the task is cancelled. Only one task may wait at a time.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasRung = state.withLock { state in
                    defer { state.hasRung = false }
                    guard !state.hasRung, !Task.isCancelled else { return true }
                    state.waiting = continuation
                    return false
                }
                if hasRung { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }
}
