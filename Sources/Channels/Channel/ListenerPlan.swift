public import Dispatch

/// How a listener is to be called: what the public forms of `listen` boil down to, with every type known only to the closure.
@usableFromInline
struct ListenerPlan {
    @usableFromInline
    enum Delivery {
        /// On the poster's thread where it has this isolation (nil: always), else on the actor.
        case isolated((any Actor)?)
        /// The same, the actor being the owner.
        case owner
        case queue(DispatchQueue)
        case async(AsyncListenerCall, AsyncIsolation)
    }

    @usableFromInline let owner: AnyObject?
    @usableFromInline let delivery: Delivery
    @usableFromInline let call: BareCall
    /// Whether the call is a `Body1` or `Body2`, called without a closure in between.
    @usableFromInline let isBare: Bool

    @usableFromInline
    init(owner: AnyObject?, delivery: Delivery, call: @escaping ListenerCall) {
        self.owner = owner
        self.delivery = delivery
        self.call = BareCall(call: call)
        isBare = false
    }

    @usableFromInline
    init(owner: AnyObject?, isolatedTo isolation: (any Actor)?, bare call: BareCall) {
        self.owner = owner
        delivery = .isolated(isolation)
        self.call = call
        isBare = true
    }

    @usableFromInline
    init(owner: AnyObject?, on isolation: AsyncIsolation, async call: @escaping AsyncListenerCall) {
        self.init(owner: owner, delivery: .async(call, isolation)) { _, _, _ in }
    }
}

// MARK: - Reading the arguments

/// Lends the value at an address to a closure. `~Copyable` so that the compiler borrows it in place instead of retaining a copy.
@inlinable
@inline(__always)
func lend<Value: ~Copyable>(_ address: UnsafePointer<Value>, _ body: (borrowing Value) -> Void) {
    body(address.pointee)
}

/// Lends the owner; see below.
@inlinable
@inline(__always)
func lend<Owner: AnyObject>(_ owner: UnsafeRawPointer?, _ body: (Owner) -> Void) {
    Unmanaged<Owner>.fromOpaque(owner.unsafelyUnwrapped)._withUnsafeGuaranteedRef { body($0) }
}

/// Lends the value and the owner. The list holds the owner during the call, and it is the object registered, so of this type.
@inlinable
@inline(__always)
func lend<Owner: AnyObject, Value: ~Copyable>(
    _ owner: UnsafeRawPointer?,
    _ address: UnsafePointer<Value>,
    _ body: (Owner, borrowing Value) -> Void
) {
    Unmanaged<Owner>.fromOpaque(owner.unsafelyUnwrapped)._withUnsafeGuaranteedRef { body($0, address.pointee) }
}

extension PostFrame {
    /// Reports what a listener threw.
    @usableFromInline
    @inline(never)
    static func listenerThrew(_ error: any Error, in frame: Pointer) {
        report(error, in: frame)
    }
}
