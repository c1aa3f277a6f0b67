#if NATS
import Channels

/// What was handed over, in order; whoever waits goes on as soon as there is what it waits for. Guarded by
/// `state`: everything.
final class Record<Value: Sendable>: Sendable {
    private struct Waiter {
        let isEnough: @Sendable ([Value]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var values: [Value] = []
        var waiters: [Int: Waiter] = [:]
        var last = 0
    }

    private let state = Locked(State())

    var values: [Value] { state.withLock { $0.values } }

    func append(_ value: Value) {
        let ready = state.withLock { state in
            state.values.append(value)
            let ready = state.waiters.filter { $0.value.isEnough(state.values) }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume(returning: true) }
    }

    /// Waits until the values are enough, for as long as the time limit of the test allows.
    ///
    /// - Returns: All values so far.
    @discardableResult
    func wait(until isEnough: @escaping @Sendable ([Value]) -> Bool) async throws -> [Value] {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        let isThere = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> Bool? in
                    if isEnough(state.values) { return true }
                    if Task.isCancelled { return false }
                    state.waiters[id] = Waiter(isEnough: isEnough, continuation: continuation)
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
        guard isThere else { throw CancellationError() }
        return values
    }

    @discardableResult
    func wait(count: Int) async throws -> [Value] {
        try await wait { $0.count >= count }
    }
}
#endif
