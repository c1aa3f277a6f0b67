/// The values of a state from the next one on, without the current one. Made by ``StateChannel/changes``.
///
/// Otherwise, listening to it is listening to the state.
public struct StateChanges<State: Sendable>: Listenable {
    /// What listeners hear: the state.
    public typealias Message = State

    private let state: StateChannel<State>

    fileprivate init(_ state: StateChannel<State>) { self.state = state }

    /// Registers a listener with the state. See ``StateChannel/register(_:isolation:)``.
    public func register(_ listener: consuming Listener<State>, isolation: isolated (any Actor)?) -> ListenerToken {
        state.register(listener, isolation: isolation, startsWithNext: true)
    }
}

extension StateChannel {
    /// The values from the next one on: a listener does not hear the current one first. A listener that is paused and
    /// resumed hears the current value then, as any listener of a state.
    public var changes: StateChanges<State> { StateChanges(self) }
}
