/// A state seen through `map` or `removingDuplicates()`, which delivers values derived from the state's values.
///
/// Order, isolation, buffering, priority and counts come from the state. It retains the state; its listeners do
/// not.
public struct MappedState<State: Sendable, Part: Sendable>: Listenable {
    private let state: StateChannel<State>
    private let part: @Sendable (State) -> Part
    /// Adapts a listener to the values of the state. Called once per listener.
    private let adapt: @Sendable (consuming Listener<Part>) -> Listener<State>

    fileprivate init(
        _ state: StateChannel<State>,
        _ part: @escaping @Sendable (State) -> Part,
        _ adapt: @escaping @Sendable (consuming Listener<Part>) -> Listener<State>
    ) {
        self.state = state
        self.part = part
        self.adapt = adapt
    }

    /// The result of the closure for the value now stored.
    public var value: Part { part(state.value) }

    /// Registers a listener with the state.
    public func register(_ listener: consuming Listener<Part>, isolation: isolated (any Actor)?) -> ListenerToken {
        state.register(adapt(listener), isolation: isolation)
    }

    /// Maps the part further. See ``StateChannel/map(_:)``.
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Part) -> Other
    ) -> MappedState<State, Other> {
        MappedState<State, Other>(
            state,
            { [part] in transform(part($0)) },
            { [adapt] in adapt($0.adapted(transform)) }
        )
    }
}

extension MappedState where Part: Equatable {
    /// Skips parts that equal the one before. A new listener receives the current part first.
    ///
    /// Parts are compared as ``Listenable/removingDuplicates()`` describes. The result also has a ``value``.
    public func removingDuplicates() -> MappedState<State, Part> {
        MappedState(state, part, { [adapt] in adapt($0.removingDuplicates()) })
    }
}

extension StateChannel {
    /// Returns a part of the state. Its listeners receive the current part first, then the part of every value set,
    /// whether or not the part has changed.
    ///
    /// ```swift
    /// sales.map(\.total).removingDuplicates().listen(self) { me, total in me.show(total) }
    /// ```
    ///
    /// - Parameter part: Extracts the part. Runs for every value, in the listener's isolation domain, or on the
    ///   setter's thread if another adaptor follows or the listener uses `overlapping:`.
    public func map<Part: Sendable>(
        _ part: @escaping @Sendable (State) -> Part
    ) -> MappedState<State, Part> {
        MappedState(self, part, { $0.adapted(part) })
    }
}

extension StateChannel where State: Equatable {
    /// Skips values that equal the one before. A new listener receives the current value first.
    ///
    /// Values are compared as ``Listenable/removingDuplicates()`` describes. The result also has a
    /// ``MappedState/value``.
    public func removingDuplicates() -> MappedState<State, State> {
        MappedState(self, { $0 }, { $0.removingDuplicates() })
    }
}
