/// The values of a state from the next one on.
struct StateUpdates<State: Sendable>: Listenable {
    fileprivate let state: StateChannel<State>

    func register(_ listener: consuming Listener<State>, isolation: isolated (any Actor)?) -> ListenerToken {
        state.register(listener, isolation: isolation, startsWithNext: true)
    }
}

extension StateChannel {
    /// Every value set from now on; the current one is not delivered first. A value that equals the one before is
    /// delivered, too: to skip it, use ``Listenable/removingDuplicates()``.
    ///
    /// A listener that is paused and resumed receives the current value on resuming. Order, isolation,
    /// buffering and counts come from the state.
    public var updates: some Listenable<State> { StateUpdates(state: self) }
}
