/// An uncounted reference: something else keeps the object alive while the reference is used.
///
/// What keeps it alive is stated where one is made or stored: the chain for an entry that a post visits, the
/// entry for its mailbox, the caller of a post for the channel and the sender. So a post neither retains nor
/// releases what it visits.
///
/// `@safe` because the pointer does not leave this type, except as a number to be compared.
@safe
@usableFromInline
struct Unretained<Object: AnyObject>: @unchecked Sendable {  // a constant pointer; the object says who may use it
    private let reference: Unmanaged<Object>

    @inline(__always)
    init(_ object: Object) {
        // Not retained: see the type's comment.
        unsafe reference = .passUnretained(object)
    }

    /// The object at an address taken from one before; nil for 0.
    @inline(__always)
    init?(address: UInt) {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        // An address of an object that is still kept alive, see the type's comment.
        unsafe reference = .fromOpaque(pointer)
    }

    /// The object at an address that is known not to be 0.
    @inline(__always)
    init(certain address: UInt) {
        // As above.
        unsafe reference = .fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
    }

    @inline(__always)
    private init(_ reference: Unmanaged<Object>) { unsafe self.reference = reference }

    /// A counted reference: it must be released with ``release()``.
    @inline(__always)
    static func retaining(_ object: Object) -> Unretained {
        unsafe Unretained(.passRetained(object))
    }

    /// The address as a number: compared, or handed to `init(address:)`.
    @inline(__always)
    var address: UInt { unsafe UInt(bitPattern: reference.toOpaque()) }

    /// The object, retained.
    @inline(__always)
    var object: Object { unsafe reference.takeUnretainedValue() }

    /// The object, retained; nil where it is being deinitialised, and must not be kept. Makes a weak
    /// reference.
    var living: Object? {
        weak var reference: Object?
        reference = object
        return reference
    }

    /// Lends the object without retaining it.
    @inline(__always)
    func borrow<Result>(_ body: (Object) -> Result) -> Result {
        // Kept alive during the call, see the type's comment.
        unsafe reference._withUnsafeGuaranteedRef { body($0) }
    }

    @inline(__always)
    func retain() { _ = unsafe reference.retain() }

    /// Releases a counted reference.
    @inline(__always)
    func release() { unsafe reference.release() }

    /// The object, taking over the counted reference.
    @inline(__always)
    func take() -> Object { unsafe reference.takeRetainedValue() }

    /// Whether both are the same object.
    @inline(__always)
    static func == (left: Unretained, right: Unretained) -> Bool { left.address == right.address }
}

/// The owner of a listener, held by the caller of the listener.
@safe
@frozen @usableFromInline
struct OwnerReference: Sendable {
    @usableFromInline let address: UInt

    @inlinable @inline(__always)
    init(_ owner: AnyObject) {
        // Held by the caller for the call.
        unsafe address = UInt(bitPattern: Unmanaged.passUnretained(owner).toOpaque())
    }

    /// Makes a reference from an uncounted one, whose object the caller holds.
    @inline(__always)
    init(_ owner: Unretained<AnyObject>) { address = owner.address }

    /// Lends the owner as what it was registered as.
    @inlinable @inline(__always)
    func lend<Owner: AnyObject>(as type: Owner.Type, _ body: (Owner) -> Void) {
        // The list hands back the object that was registered, and the caller holds it.
        unsafe Unmanaged<Owner>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            ._withUnsafeGuaranteedRef { body($0) }
    }
}

/// An object whose class is known from where it was stored. Checked in debug builds.
@inlinable @inline(__always)
func known<Object: AnyObject>(_ object: AnyObject, as type: Object.Type) -> Object {
    unsafe unsafeDowncast(object, to: type)
}

/// A sender or owner as the Sendable object it was passed as; the bits are the same.
func sendable(_ object: AnyObject) -> any AnyObject & Sendable {
    // Channels that keep or forward a sender accept Sendable objects only. A marker protocol has no run-time
    // representation.
    unsafe unsafeBitCast(object, to: (any AnyObject & Sendable).self)
}

/// Something that enters a `@Sendable` closure although it is not Sendable: sound where one isolation domain
/// both makes and calls the closure, as on a `LocalChannel`.
@frozen @usableFromInline
struct Unchecked<Value>: @unchecked Sendable {  // see above: one isolation domain makes and uses it
    @usableFromInline let value: Value
    @inlinable init(_ value: Value) { self.value = value }
}
