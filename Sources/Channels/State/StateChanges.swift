/// The values of a state from the next one on.
struct StateChanges<State: Sendable>: Listenable {
    fileprivate let state: StateChannel<State>

    func register(_ listener: consuming Listener<State>, isolation: isolated (any Actor)?) -> ListenerToken {
        state.register(listener, isolation: isolation, startsWithNext: true)
    }
}

extension StateChannel {
    /// Every value set from now on, without the current one first.
    ///
    /// A listener that is paused and resumed receives the current value on resuming. Order, isolation,
    /// buffering and counts come from the state.
    public var changes: some Listenable<State> { StateChanges(state: self) }
}
