internal import Observation

/// The properties that are listened to, so that an object has only one ``ObservedProperty`` for each. An observation
/// cannot be withdrawn, so more of them would accumulate in an object that never changes.
@MainActor
final class ObservedProperties {
    private struct Key: Hashable {
        let object: ObjectIdentifier
        let property: AnyKeyPath
    }

    private struct WeakProperty { weak var property: (any ObjectProperty)? }

    static let shared = ObservedProperties()

    private var properties: [Key: WeakProperty] = [:]
    /// The number of properties at which those of deallocated objects are ended and removed.
    private var limit = 64

    func property<Object: AnyObject & Observable, Value: Sendable>(
        of object: Object,
        _ path: KeyPath<Object, Value>
    ) -> ObservedProperty<Object, Value> {
        let key = Key(object: ObjectIdentifier(object), property: path)
        if let found = properties[key]?.property as? ObservedProperty<Object, Value>, found.isOf(object) {
            return found
        }
        let over = properties.count >= limit ? removeOver() : []
        let made = ObservedProperty(object, path)
        properties[key] = WeakProperty(property: made)
        // Done last, because it may run user code that calls this again.
        for property in over { property.end() }
        return made
    }

    /// Removes the properties of objects that were deallocated.
    private func removeOver() -> [any ObjectProperty] {
        let over = properties.values.compactMap(\.property).filter(\.isOver)
        properties = properties.filter { $0.value.property?.isOver == false }
        limit = max(64, 2 * properties.count)
        return over
    }
}

@MainActor
protocol ObjectProperty: AnyObject {
    /// Whether the object was deallocated.
    var isOver: Bool { get }

    func end()
}
