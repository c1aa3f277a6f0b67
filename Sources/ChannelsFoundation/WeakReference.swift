internal import Channels

/// A weak reference that several threads may use.
final class WeakReference: Sendable {
    private struct Storage { weak var object: (any AnyObject & Sendable)? }

    private let storage: Locked<Storage>

    init(_ object: (any AnyObject & Sendable)? = nil) { storage = Locked(Storage(object: object)) }

    var object: (any AnyObject & Sendable)? {
        get { storage.withLock { $0.object } }
        set { storage.withLock { $0.object = newValue } }
    }
}
