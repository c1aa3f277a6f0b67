/// The values of a state from the next one on, without the current one, made by ``StateChannel/changes``.
///
/// Order, isolation, buffering and counts are those of the state.
public struct StateChanges<State: Sendable>: Listenable {
    /// The type of the state.
    public typealias Message = State

    private let state: StateChannel<State>

    fileprivate init(_ state: StateChannel<State>) { self.state = state }

    /// Registers a listener with the state.
    public func register(_ listener: consuming Listener<State>, isolation: isolated (any Actor)?) -> ListenerToken {
        state.register(listener, isolation: isolation, startsWithNext: true)
    }
}

extension StateChannel {
    /// The values from the next one on: a listener does not receive the current one first. A listener that is
    /// paused and resumed receives the current value on resuming, like any listener of a state.
    public var changes: StateChanges<State> { StateChanges(self) }
}
