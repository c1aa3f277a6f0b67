internal import Channels
internal import Synchronization

/// Suspends listeners and other tasks until a test opens the gate.
///
/// A gate opens only once. Waiting at it does not block a thread.
///
/// ```swift
/// let gate = Gate()
/// let token = channel.listen { message in await gate.wait() }
/// channel.post(1)
/// await gate.waitUntilReached()
/// // … the listener is in the middle of its call …
/// gate.open()
/// ```
public final class Gate: Sendable {
    /// Guarded by the gate's lock; continuations are resumed without it.
    private struct State {
        var isOpen = false
        var isReached = false
        var waiting: [ObjectIdentifier: CheckedContinuation<Void, any Error>] = [:]
        /// The tasks in ``Gate/waitUntilReached()``.
        var observers: [CheckedContinuation<Void, Never>] = []
    }

    /// Identifies a wait.
    private final class Key: Sendable {
        /// Read and written under the lock of the gate.
        let isCancelled = Atomic<Bool>(false)
    }

    private let state = Locked(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether the gate has been opened.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// How many tasks are waiting.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Resumes every waiting task; later calls to `wait()` return immediately.
    ///
    /// May be called from any thread. Opening the gate again does nothing.
    public func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.isOpen = true
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Suspends until the gate is open, even if the task is cancelled.
    public func wait() async {
        // Nobody else has the key, so this wait cannot be cancelled.
        try? await wait(as: Key())
    }

    /// Suspends until the gate is open.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUnlessCancelled() async throws {
        let key = Key()
        try await withTaskCancellationHandler {
            try await wait(as: key)
        } onCancel: {
            let waiting = state.withLock { state in
                key.isCancelled.store(true, ordering: .relaxed)
                return state.waiting.removeValue(forKey: ObjectIdentifier(key))
            }
            waiting?.resume(throwing: CancellationError())
        }
    }

    /// Suspends until a task waits at the gate, even if the caller is cancelled.
    ///
    /// Returns at once if a task has already waited, even if the gate has been opened since.
    public func waitUntilReached() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if !state.isReached { state.observers.append(continuation) }
                return state.isReached
            }
            if isReached { continuation.resume() }
        }
    }

    private func wait(as key: Key) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let (observers, isOpen, isCancelled) = state.withLock { state in
                defer { (state.observers, state.isReached) = ([], true) }
                let isCancelled = key.isCancelled.load(ordering: .relaxed)
                if !state.isOpen, !isCancelled { state.waiting[ObjectIdentifier(key)] = continuation }
                return (state.observers, state.isOpen, isCancelled)
            }
            for observer in observers { observer.resume() }
            if isOpen {
                continuation.resume()
            } else if isCancelled {
                continuation.resume(throwing: CancellationError())
            }
        }
        withExtendedLifetime(key) {}
    }
}
