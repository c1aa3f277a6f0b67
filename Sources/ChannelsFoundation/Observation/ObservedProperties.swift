internal import Observation

/// The properties that are listened to, so that an object has one ``ObservedProperty`` for each: what waits
/// for a change cannot be withdrawn, and would pile up in an object that never changes.
@MainActor
final class ObservedProperties {
    private struct Key: Hashable {
        let object: ObjectIdentifier
        let property: AnyKeyPath
    }

    private struct WeakProperty { weak var property: AnyObject? }

    static let shared = ObservedProperties()

    private var properties: [Key: WeakProperty] = [:]
    /// The size at which those that were deallocated are removed.
    private var limit = 64

    func property<Object: AnyObject & Observable, Value: Sendable>(
        of object: Object,
        _ path: KeyPath<Object, Value>
    ) -> ObservedProperty<Object, Value> {
        let key = Key(object: ObjectIdentifier(object), property: path)
        if let found = properties[key]?.property as? ObservedProperty<Object, Value>, found.isOf(object) {
            return found
        }
        if properties.count >= limit {
            properties = properties.filter { $0.value.property != nil }
            limit = max(64, 2 * properties.count)
        }
        let made = ObservedProperty(object, path)
        properties[key] = WeakProperty(property: made)
        return made
    }
}
