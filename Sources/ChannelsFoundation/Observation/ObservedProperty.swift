public import Channels
public import Observation
internal import Synchronization

/// Delivers the values of an observable object's property, like a state.
///
/// Create it with `object.channel(for:)`.
///
/// ```swift
/// basket.channel(for: \.total).listen(self) { me, total in me.show(total) }
/// ```
///
/// A new listener receives the current value first. If it is registered off the main actor, that is the value at the
/// end of the main actor's latest turn. All changes in one turn of the main actor result in one message with the final
/// value, unless that equals the previous value. If a listener is registered between two changes, the first one is a
/// message of its own, so a value that is not `Equatable` may be delivered twice. Change the property, and what it is
/// computed from, on the main actor only: Observation announces a change before it is made, so a change made elsewhere
/// could be missed.
///
/// An `ObservedProperty` does not retain the object. Its listeners end when the object is deallocated. If the property
/// is computed from other objects that outlive the object, that happens at their next change, or when properties of
/// further objects are observed. A property that reads nothing observable never changes: its listeners receive the
/// value once, and end.
///
/// You do not need to keep an `ObservedProperty`: the object keeps it alive.
public final class ObservedProperty<Object: AnyObject & Observable, Value: Sendable>: Listenable {
    /// The value of the property.
    public typealias Message = Value

    @MainActor private weak var object: Object?
    @MainActor private let property: KeyPath<Object, Value>
    /// The values. Only the pending observation keeps them alive, so they end with it.
    private let values: WeakReference
    /// Keeps the values if there is no pending observation, because nothing observable was read.
    private let constant = Locked<ObservedValues<Value>?>(nil)

    @MainActor
    init(_ object: Object, _ property: KeyPath<Object, Value>) {
        self.object = object
        self.property = property
        var values = ObservedValues(object[keyPath: property])
        self.values = WeakReference(values)
        track(values)
        if isKnownUniquelyReferenced(&values) { constant.withLock { [values] in $0 = values } }
    }

    /// Registers a listener, which receives the current value first.
    public func register(
        _ listener: consuming Listener<Value>,
        isolation: isolated (any Actor)?
    ) -> ListenerToken {
        guard let values = values.object as? ObservedValues<Value>, let state = values.state else {
            // The values have ended. A channel that is released at once ends the listener.
            return Channel<Value>().register(listener, isolation: isolation)
        }
        if MainQueue.isCurrent { MainActor.assumeIsolated { catchUp(values, state) } }
        return state.register(listener, isolation: isolation)
    }

    /// Applies the changes of this turn of the main actor before a new listener receives the current value.
    ///
    /// The task that waits for the next turn then finds an equal value or a later change, and starts a new observation.
    /// Observing here could miss a change, because this may be called before the change is made.
    @MainActor
    private func catchUp(_ values: ObservedValues<Value>, _ state: StateChannel<Value>) {
        guard values.hasChanged.load(ordering: .relaxed), let object else { return }
        set(object[keyPath: property], state)
    }

    @MainActor
    private func set(_ value: Value, _ state: StateChannel<Value>) {
        // Nothing else sets this state.
        if !areEqual(value, state.value) { state.set(value) }
    }

    /// Whether this belongs to the given object, and not to a former object at its address.
    @MainActor
    func isOf(_ object: Object) -> Bool { self.object === object }

    /// Observes the next change. The objects that are read keep the observation alive, and the observation keeps this
    /// object and the values alive.
    @MainActor @discardableResult
    private func track(_ values: ObservedValues<Value>) -> Value? {
        guard let object else { return nil }
        values.hasChanged.store(false, ordering: .relaxed)
        return withObservationTracking {
            object[keyPath: property]
        } onChange: {
            values.hasChanged.store(true, ordering: .relaxed)
            Task { @MainActor in self.changed(values) }
        }
    }

    @MainActor
    private func changed(_ values: ObservedValues<Value>) {
        guard let value = track(values), let state = values.state else { return }
        set(value, state)
    }
}

extension ObservedProperty: ObjectProperty {
    var isOver: Bool { object == nil }

    func end() { (values.object as? ObservedValues<Value>)?.end() }
}

/// The values of a property, until its object is deallocated.
private final class ObservedValues<Value: Sendable>: Sendable {
    private let current: Locked<StateChannel<Value>?>
    /// Whether a change was announced that has not been applied yet.
    let hasChanged = Atomic(false)

    init(_ value: Value) { current = Locked(StateChannel(value)) }

    var state: StateChannel<Value>? { current.withLock { $0 } }

    /// Ends the listeners. Done without the lock.
    func end() {
        var ended: StateChannel<Value>?
        current.withLock { swap(&$0, &ended) }
        withExtendedLifetime(ended) {}
    }
}

extension Observable where Self: AnyObject {
    /// Returns a source with the values of a property: the current one, then every change.
    ///
    /// An object has one source for each property.
    @MainActor public func channel<Value: Sendable>(
        for property: KeyPath<Self, Value>
    ) -> ObservedProperty<Self, Value> {
        ObservedProperties.shared.property(of: self, property)
    }
}
