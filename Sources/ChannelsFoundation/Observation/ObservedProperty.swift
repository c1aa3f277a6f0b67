public import Channels
public import Observation

/// A property of an observable object, as a state. Made by `object.channel(for:)`.
///
/// ```swift
/// basket.channel(for: \.total).listen(self) { me, total in me.show(total) }
/// ```
///
/// A new listener hears the current value first. Changes made in one turn of the main actor are one message,
/// which is the value after them. The property, and what it is computed from, must be changed on the main
/// actor only: Observation tells of a change before it is made, and a change made elsewhere could be missed.
///
/// It does not retain the object. Its listeners end when the object is deallocated. It need not be kept:
/// the object keeps it.
public final class ObservedProperty<Object: AnyObject & Observable, Value: Sendable>: Listenable {
    /// What listeners hear: the value of the property.
    public typealias Message = Value

    @MainActor private weak var object: Object?
    @MainActor private let property: KeyPath<Object, Value>
    private let state: StateChannel<Value>

    @MainActor
    init(_ object: Object, _ property: KeyPath<Object, Value>) {
        self.object = object
        self.property = property
        state = StateChannel(object[keyPath: property])
        track()
    }

    /// Registers a listener, which hears the current value first.
    public func register(
        _ listener: consuming Listener<Value>,
        isolation: isolated (any Actor)?
    ) -> ListenerToken {
        state.register(listener, isolation: isolation)
    }

    /// Whether it is this object's, and not that of one whose address it has.
    @MainActor
    func isOf(_ object: Object) -> Bool { self.object === object }

    /// Waits for the next change. The object keeps what waits, and this with it.
    @MainActor @discardableResult
    private func track() -> Value? {
        guard let object else { return nil }
        return withObservationTracking {
            object[keyPath: property]
        } onChange: {
            Task { @MainActor in self.changed() }
        }
    }

    @MainActor
    private func changed() {
        guard let value = track() else { return }
        state.set(value)
    }
}

extension Observable where Self: AnyObject {
    /// A property as something to listen to. See ``ObservedProperty``.
    ///
    /// One object has one of these for each property.
    @MainActor public func channel<Value: Sendable>(
        for property: KeyPath<Self, Value>
    ) -> ObservedProperty<Self, Value> {
        ObservedProperties.shared.property(of: self, property)
    }
}
