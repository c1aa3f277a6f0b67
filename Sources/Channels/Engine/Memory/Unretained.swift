internal import CChannels

/// An uncounted reference, so that a post neither retains nor releases what it visits. The code that makes or stores
/// one states what keeps the object alive: the chain keeps an entry that a post visits, the entry keeps its mailbox,
/// and the caller of a post keeps the channel and the sender. `@safe` because the pointer leaves this type only as a
/// number for comparison.
@safe
@usableFromInline
struct Unretained<Object: AnyObject>: @unchecked Sendable {  // a constant pointer; the object says who may use it
    private let reference: Unmanaged<Object>

    @inline(__always)
    init(_ object: Object) {
        // Not retained: see the type's comment.
        unsafe reference = .passUnretained(object)
    }

    /// Makes a reference from an address taken from another reference; nil for 0.
    @inline(__always)
    init?(address: UInt) {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        // The object is still alive: see the type's comment.
        unsafe reference = .fromOpaque(pointer)
    }

    /// Makes a reference from an address that is known not to be 0.
    @inline(__always)
    init(known address: UInt) {
        // The object is still alive, and the address is not 0.
        unsafe reference = .fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
    }

    @inline(__always)
    private init(_ reference: Unmanaged<Object>) { unsafe self.reference = reference }

    /// Makes a counted reference, which must be released with ``release()``.
    @inline(__always)
    static func retaining(_ object: Object) -> Unretained {
        unsafe Unretained(.passRetained(object))
    }

    @inline(__always)
    var address: UInt { unsafe UInt(bitPattern: reference.toOpaque()) }

    @inline(__always)
    var object: Object { unsafe reference.takeUnretainedValue() }

    /// Whether a weak reference can be formed. On Apple's systems, an `NSObject` in its deinit allows none.
    @inline(__always)
    var allowsWeakReference: Bool { unsafe channels_allows_weak_reference(reference.toOpaque()) }

    /// The object, retained; nil during its deinit, when it must not be kept. Forms a weak reference.
    var living: Object? {
        guard allowsWeakReference else { return nil }
        weak var reference: Object?
        reference = object
        return reference
    }

    @inline(__always)
    func borrow<Result>(_ body: (Object) -> Result) -> Result {
        // Kept alive during the call: see the type's comment.
        unsafe reference._withUnsafeGuaranteedRef { body($0) }
    }

    @inline(__always)
    func retain() { _ = unsafe reference.retain() }

    @inline(__always)
    func release() { unsafe reference.release() }

    /// Returns the object and takes over the counted reference.
    @inline(__always)
    func take() -> Object { unsafe reference.takeRetainedValue() }

    /// The reference without the type of the object.
    var untyped: Unretained<AnyObject> { Unretained<AnyObject>(known: address) }

    @inline(__always)
    static func == (left: Unretained, right: Unretained) -> Bool { left.address == right.address }
}

/// A reference to the owner of a listener. The caller of the listener keeps the owner alive.
@safe
@frozen @usableFromInline
struct OwnerReference: Sendable {
    @usableFromInline let address: UInt

    @inlinable @inline(__always)
    init(_ owner: AnyObject) {
        // Kept alive by the caller during the call.
        unsafe address = UInt(bitPattern: Unmanaged.passUnretained(owner).toOpaque())
    }

    /// Makes a reference to an object that the caller keeps alive.
    @inline(__always)
    init(_ owner: Unretained<AnyObject>) { address = owner.address }

    /// Lends the owner as the class it was registered with.
    @inlinable @inline(__always)
    func lend<Owner: AnyObject>(as type: Owner.Type, _ body: (Owner) -> Void) {
        // The list returns the object that was registered, and the caller keeps it alive.
        unsafe Unmanaged<Owner>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            ._withUnsafeGuaranteedRef { body($0) }
    }
}

/// Casts an object whose class is known from where it was stored. Checked in debug builds.
@inlinable @inline(__always)
package func known<Object: AnyObject>(_ object: AnyObject, as type: Object.Type) -> Object {
    unsafe unsafeDowncast(object, to: type)
}

/// Casts a sender or owner back to the Sendable object that was passed in.
func sendable(_ object: AnyObject) -> any AnyObject & Sendable {
    // Channels that keep or forward senders accept only Sendable ones; a marker protocol changes no bits.
    unsafe unsafeBitCast(object, to: (any AnyObject & Sendable).self)
}

/// A non-Sendable value for use in a `@Sendable` closure. Sound if one isolation domain makes and calls the closure, as
/// on a `LocalChannel`.
@frozen @usableFromInline
struct Unchecked<Value>: @unchecked Sendable {  // see above: one isolation domain makes and uses it
    @usableFromInline let value: Value
    @inlinable init(_ value: Value) { self.value = value }
}
