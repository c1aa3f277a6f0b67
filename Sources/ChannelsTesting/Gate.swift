internal import Channels

/// A door that opens once: a test holds a listener, or a task, before it until the moment it wants. Nobody
/// holds a thread.
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

    /// Creates a gate that is shut.
    public init() {}

    /// Whether it has been opened.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// How many tasks wait before it.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Lets everybody through, now and later. May be called from any thread; opening it again does nothing.
    public func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Suspends until the gate is open. Does not listen to task cancellation.
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
