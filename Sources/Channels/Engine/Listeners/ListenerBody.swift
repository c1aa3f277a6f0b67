internal import Synchronization

// How a closure is stored without its type, and called again.
//
// The two most common forms of a listener, `(Message)` that does not throw and `(Owner, Message)` that may, are called
// directly, without a closure in between. A body that may throw costs five more instructions. They are negligible next
// to the 174 of a call with a weak owner, but not next to the 29 of a call without one.
//
// A closure stored in a generic struct has the most general calling convention of its type: an argument of generic type
// is passed by address or, if its type is known to be a class, as the reference. So `Body1<Sale>` and `Body1<Erased>`
// hold closures with the same convention, and one may be called as the other if the address passed is that of a `Sale`.
// `Erased` cannot be loaded or copied, so the compiler passes on that very address.
//
// The structs have the same constraints as the forms that fill them: an owner is `AnyObject`, a message is anything.
// With other constraints the convention would differ, and the compiler would add a thunk, with an allocation and a
// call.
//
// A synchronous `@isolated(any)` closure has the calling convention of a plain one: the isolation is stored in its
// context, read through `.isolation`, and enforced by the caller. `isolated Owner` is an ordinary argument. The list
// calls such a closure only in the isolation its listener was registered with. The casts go through structs of one
// field with equal generic parameters and constraints, because a closure that is cast directly gets two allocated
// thunks.

/// A call of a listener with a message, its owner (nil if its token owns it), and the post.
@usableFromInline
typealias ListenerCall = @Sendable (MessageAddress, OwnerReference?, FrameReference) -> Void

@frozen @usableFromInline
struct IsolatedBody1<A: ~Copyable>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (borrowing A) -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (borrowing A) -> Void) { self.call = call }
}

@frozen @usableFromInline
struct Body1<A: ~Copyable>: Sendable {
    @usableFromInline let call: @Sendable (borrowing A) -> Void
    // The calling convention is the same: see the top of this file.
    @inlinable init(unisolated body: IsolatedBody1<A>) { self = unsafe unsafeBitCast(body, to: Self.self) }
}

@frozen @usableFromInline
struct ThrowingIsolatedBody1<A>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (A) throws -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (A) throws -> Void) { self.call = call }
}

@frozen @usableFromInline
struct ThrowingBody1<A>: Sendable {
    @usableFromInline let call: @Sendable (A) throws -> Void
    // The isolation is in the context: the calling convention is the same.
    @inlinable init(unisolated body: ThrowingIsolatedBody1<A>) { self = unsafe unsafeBitCast(body, to: Self.self) }
}

@frozen @usableFromInline
struct IsolatedBody2<A: AnyObject, B: ~Copyable>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (A, borrowing B) throws -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (A, borrowing B) throws -> Void) { self.call = call }
}

@frozen @usableFromInline
struct ActorBody2<A: Actor, B: ~Copyable> {
    @usableFromInline let call: (isolated A, borrowing B) throws -> Void
    @inlinable init(_ call: @escaping (isolated A, borrowing B) throws -> Void) { self.call = call }
}

@frozen @usableFromInline
struct Body2<A: AnyObject, B: ~Copyable>: Sendable {
    @usableFromInline let call: @Sendable (A, borrowing B) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A, borrowing B) throws -> Void) { self.call = call }
    // The isolation is in the context: the calling convention is the same.
    @inlinable init(unisolated body: IsolatedBody2<A, B>) { self = unsafe unsafeBitCast(body, to: Self.self) }
    @inlinable
    init(unisolated body: ActorBody2<A, B>) where A: Actor {
        // `isolated` marks an ordinary argument, and an actor is an object, so the calling convention is the same.
        self = unsafe unsafeBitCast(body, to: Self.self)
    }
}

@frozen @usableFromInline
struct LocalBody1<A: ~Copyable> {
    @usableFromInline let call: (borrowing A) -> Void
    @inlinable init(_ call: @escaping (borrowing A) -> Void) { self.call = call }
}

@frozen @usableFromInline
struct LocalBody2<A: AnyObject, B: ~Copyable> {
    @usableFromInline let call: (A, borrowing B) throws -> Void
    @inlinable init(_ call: @escaping (A, borrowing B) throws -> Void) { self.call = call }
}

/// Stands for a value of a type known only to the closure that receives its address.
@safe
struct Erased: ~Copyable {
    /// Makes the struct address-only, so that it cannot be loaded.
    private let neverLoaded: Atomic<UInt8>
}

/// A closure without its type: a ``ListenerCall``, or the contents of a `Body1` or `Body2`.
@frozen @usableFromInline
struct BareCall: Sendable {
    // Only the two words matter. `ListenerBody` knows what they stand for.
    private let storage: ListenerCall

    @usableFromInline
    init(call: @escaping ListenerCall) { storage = call }

    // Each of these is a struct of one closure: two words, the second of which is a counted reference. `@Sendable` does
    // not change a closure's convention, and the list of a local channel is used by one isolation domain only.

    @usableFromInline
    // Two words, see above.
    init<Message>(_ body: Body1<Message>) { self = unsafe unsafeBitCast(body, to: Self.self) }

    @usableFromInline
    // Two words, see above.
    init<Owner: AnyObject, Message>(_ body: Body2<Owner, Message>) { self = unsafe unsafeBitCast(body, to: Self.self) }

    @usableFromInline
    // Two words, see above.
    init<Message>(_ body: LocalBody1<Message>) { self = unsafe unsafeBitCast(body, to: Self.self) }

    @usableFromInline
    init<Owner: AnyObject, Message>(_ body: LocalBody2<Owner, Message>) {
        // Two words, see above.
        self = unsafe unsafeBitCast(body, to: Self.self)
    }

    @usableFromInline static let nothing = BareCall(call: { _, _, _ in })
}

/// The closure that an entry calls. Not copyable, so that the hot path borrows the closure instead of retaining it.
struct ListenerBody: ~Copyable {
    private let call: BareCall

    init(_ call: BareCall) { self.call = call }

    @inline(__always)
    func call(_ message: MessageAddress, _ owner: OwnerReference?, _ frame: FrameReference, isBare: Bool) {
        if !isBare {
            callGeneral(message, owner, frame)
        } else if let owner {
            callBare(message, owner: owner, frame)
        } else {
            callBare(message)
        }
    }

    @inline(__always)
    func callGeneral(_ message: MessageAddress, _ owner: OwnerReference?, _ frame: FrameReference) {
        // The bits of the entry that holds this body say what the two words are, here and below.
        unsafe withUnsafePointer(to: self) { body in
            unsafe borrowing(UnsafeRawPointer(body).assumingMemoryBound(to: GeneralBody.self)) {
                $0.call(message, owner, frame)
            }
        }
    }

    @inline(__always)
    func callBare(_ message: MessageAddress) {
        unsafe withUnsafePointer(to: self) { body in
            unsafe borrowing(UnsafeRawPointer(body).assumingMemoryBound(to: BareBody1.self)) {
                unsafe $0.body.call(message.raw.assumingMemoryBound(to: Erased.self).pointee)
            }
        }
    }

    @inline(__always)
    func callBare(_ message: MessageAddress, owner: OwnerReference, _ frame: FrameReference) {
        owner.lend(as: AnyObject.self) { owner in
            unsafe withUnsafePointer(to: self) { body in
                unsafe borrowing(UnsafeRawPointer(body).assumingMemoryBound(to: BareBody2.self)) {
                    do {
                        try unsafe $0.body.call(owner, message.raw.assumingMemoryBound(to: Erased.self).pointee)
                    } catch {
                        frame.report(error)
                    }
                }
            }
        }
    }
}

private struct GeneralBody: ~Copyable { let call: ListenerCall }
private struct BareBody1: ~Copyable { let body: Body1<Erased> }
private struct BareBody2: ~Copyable { let body: Body2<AnyObject, Erased> }
