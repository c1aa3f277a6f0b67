extension StateChannel {
    /// Returns a part of the state: its listeners receive the current part first, then every change of it.
    ///
    /// ```swift
    /// sales.map(\.total).listen(self) { me, total in me.show(total) }
    /// let changes = sales.map(\.self)  // without values that equal the one before
    /// ```
    ///
    /// - Parameter part: Extracts the part. Runs for every value, where the listener runs; on the setter's
    ///   thread if another adaptor follows or the listener uses `overlapping:`.
    public func map<Part: Equatable & Sendable>(
        _ part: @escaping @Sendable (State) -> Part
    ) -> MappedState<State, Part> {
        MappedState(state: self, part: part)
    }
}

/// Observes a part of a state; made by ``StateChannel/map(_:)``.
///
/// Order, isolation, buffering, priority and counts come from the state. But a listener is not called if
/// the part equals the last one it received; such a value counts as delivered. So a part that changes and
/// changes back while values are queued with `.newest(1)` is not delivered. It retains the state; its
/// listeners do not.
public struct MappedState<State: Sendable, Part: Equatable & Sendable>: Listenable {
    @usableFromInline let state: StateChannel<State>
    @usableFromInline let part: @Sendable (State) -> Part

    init(state: StateChannel<State>, part: @escaping @Sendable (State) -> Part) {
        self.state = state
        self.part = part
    }

    /// The part of the value stored.
    public var value: Part { part(state.value) }

    /// Registers a listener with the state.
    @inlinable
    public func register(_ listener: consuming Listener<Part>, isolation: isolated (any Actor)?) -> ListenerToken {
        let heard = LastPart<Part>()
        return state.register(
            listener.adaptedAtDelivery { [part] (state: State, _) in heard.ifNew(part(state)) },
            isolation: isolation
        )
    }
}

/// The last part that a listener received, and how often it has changed.
///
/// A lock guards it, because several tasks may read one sequence. It is not held while parts are compared: that is the
/// user's code.
@usableFromInline
final class LastPart<Part: Equatable & Sendable>: Sendable {
    @usableFromInline let last = Locked<(part: Part?, changes: Int)>((nil, 0))

    @usableFromInline
    init() {}

    /// The part, if it is another than the last.
    @inlinable
    func ifNew(_ part: Part) -> Part? {
        while true {
            let before = last.withLock { $0 }
            if let heard = before.part, heard == part { return nil }
            // The old one is released without the lock.
            var other: Part? = part
            let isStored = last.withLock { last in
                guard last.changes == before.changes else { return false }
                swap(&last.part, &other)
                last.changes += 1
                return true
            }
            if isStored { return part }
        }
    }
}
