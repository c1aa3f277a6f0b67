internal import Channels

/// Suspends listeners and other tasks until a test opens it. It opens once. Waiting does not block a thread.
///
/// ```swift
/// let gate = Gate()
/// let token = channel.listen { message in await gate.wait() }
/// channel.post(1)
/// // … the listener is in the middle of its call …
/// gate.open()
/// ```
public final class Gate: Sendable {
    /// Guarded by its lock; continuations are resumed without it.
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether the gate has been opened.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// How many tasks are waiting.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Resumes every waiting task; later waits return immediately. May be called from any thread. Opening the
    /// gate again does nothing.
    public func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Suspends until the gate is open, even if the task is cancelled.
    public func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
