extension StateChannel {
    /// A part of the state: its listeners hear the current part first, then every change of it.
    ///
    /// ```swift
    /// sales.map(\.total).listen(self) { me, total in me.show(total) }
    /// let changes = sales.map(\.self)  // the state itself, without values that equal the one before
    /// ```
    ///
    /// - Parameter part: Takes the part out of the state. It runs where the listener runs, for every value
    ///   that reaches the listener: keep it short.
    public func map<Part: Equatable & Sendable>(
        _ part: @escaping @Sendable (State) -> Part
    ) -> MappedState<State, Part> {
        MappedState(state: self, part: part)
    }
}

/// A part of a state. Made by ``StateChannel/map(_:)``.
///
/// Listening to it is listening to the state: order, isolation, buffering, priority and accounts are the
/// same, and so is the place among the state's listeners. But a listener is not called when the part equals
/// the one it heard last. So a part that changes and changes back while values wait for a slow listener with
/// `.newest(1)` is not heard at all. Values that were skipped count as delivered.
///
/// It retains the state; its listeners do not.
public struct MappedState<State: Sendable, Part: Equatable & Sendable>: Listenable {
    /// What listeners hear: the part.
    public typealias Message = Part

    @usableFromInline let state: StateChannel<State>
    @usableFromInline let part: @Sendable (State) -> Part

    init(state: StateChannel<State>, part: @escaping @Sendable (State) -> Part) {
        self.state = state
        self.part = part
    }

    /// The part of the value stored.
    public var value: Part { part(state.value) }

    /// Registers a listener with the state. See ``StateChannel/register(_:isolation:)``.
    @inlinable
    public func register(_ listener: consuming Listener<Part>, isolation: isolated (any Actor)?) -> ListenerToken {
        let heard = LastPart<Part>()
        guard !listener.registration.isSequence else { return registerSequence(listener, heard) }
        return state.register(
            listener.adaptedOrSkipped { [part] (state: State) in heard.ifNew(part(state)) },
            isolation: isolation
        )
    }

    /// A reader takes what waits in its buffer, and cannot skip any of it: a state of its own, which is set
    /// to new parts only, stands in between.
    @usableFromInline
    func registerSequence(_ listener: consuming Listener<Part>, _ heard: LastPart<Part>) -> ListenerToken {
        let options = ListenerOptions(listener.registration.priority, listener.registration.site)
        let parts = StateChannel<Part>(part(state.value), name: nil, faults: state.list.faults, diagnostics: .off)
        // The first part is that of the value which the feed is handed: others may be set until then.
        let token = parts.register(listener, isolation: nil, startsWithNext: true)
        // The state's listener keeps the parts, which end when it does.
        let feed = state.register(
            Listener<State>(nil, .isolated(nil), options) { [part] message, _, _ in
                let part = part(message.load(as: State.self))
                guard heard.last != part else { return }
                parts.set(part, isolation: nil)
                // Unless it was refused: then the next value is not skipped, whatever its part.
                if parts.value == part { heard.last = part }
            },
            isolation: nil
        )
        parts.list.delegate = FeedDelegate(feed, instead: parts.list.delegate)
        // The sequence is not handed out yet: only the state can have ended, and that ends the feed.
        return token
    }
}

/// The part that a listener has heard last.
///
/// Guards: a listener is called once at a time, and a call sees what the one before it wrote, whichever threads
/// run them; so does the feed of a sequence.
@usableFromInline
final class LastPart<Part: Equatable & Sendable>: @unchecked Sendable {  // see above
    @usableFromInline var last: Part?

    @usableFromInline
    init() {}

    /// The part, if it is another than the last.
    @inlinable
    func ifNew(_ part: Part) -> Part? {
        if let last, last == part { return nil }
        last = part
        return part
    }
}

/// Ends what feeds a list when its last listener has gone.
private final class FeedDelegate: ListenerListDelegate {
    private let feed: ListenerToken
    /// That of the state, which hands a listener that resumes the current value.
    private let state: (any ListenerListDelegate)?

    init(_ feed: ListenerToken, instead state: (any ListenerListDelegate)?) {
        self.feed = feed
        self.state = state
    }

    func listeningChanged(in list: ListenerList) {
        if list.listenerCountNow == 0 { feed.cancel() }
    }

    func resume(_ entry: ListenerEntry) -> Bool { state?.resume(entry) ?? false }
}
