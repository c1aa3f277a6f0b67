internal import Synchronization

// The two commonest forms of a listener, `(Message)` and `(Owner, Message)` without isolation, are called without a closure in between.
//
// A closure stored in a generic struct has the most general calling convention of its type, whatever the struct is generic over: each
// argument of generic type is passed by address. So `Body1<Sale>` and `Body1<Erased>` hold closures of one convention, and one may be
// called as the other if the address passed is that of a `Sale`. `Erased` cannot be loaded or copied, so the compiler passes the
// address it was given and nothing else. (The parameters of `Body1` and `Body2` carry no constraint: a class constraint would
// change the convention.)

/// Stands for a value of a type known only to the closure that receives its address.
struct Erased: ~Copyable {
    /// Has no loadable representation, and with it neither has the struct.
    private let neverLoaded: Atomic<UInt8>
}

/// A closure whose type has been forgotten: ``ListenerCall``, or the contents of a `Body1` or `Body2`.
@usableFromInline
struct BareCall: Sendable {
    // Only the two words matter; called through `ListenerBody`, which knows what they are.
    private let storage: ListenerCall

    @usableFromInline
    init(call: @escaping ListenerCall) {
        storage = call
    }

    @usableFromInline
    init<Message>(_ body: Body1<Message>) {
        // Both are structs of one closure: two words, of which the second is a counted reference.
        self = unsafeBitCast(body, to: Self.self)
    }

    @usableFromInline
    init<Owner, Message>(_ body: Body2<Owner, Message>) {
        // The same.
        self = unsafeBitCast(body, to: Self.self)
    }
}

/// The body of a listener of a `LocalChannel`; see the head of this file.
@usableFromInline
struct LocalBody1<A: ~Copyable> {
    @usableFromInline let call: (borrowing A) -> Void
    @inlinable init(_ call: @escaping (borrowing A) -> Void) { self.call = call }
}

/// The same, with an owner.
@usableFromInline
struct LocalBody2<A: ~Copyable, B: ~Copyable> {
    @usableFromInline let call: (borrowing A, borrowing B) -> Void
    @inlinable init(_ call: @escaping (borrowing A, borrowing B) -> Void) { self.call = call }
}

extension BareCall {
    @usableFromInline
    init<Message>(_ body: LocalBody1<Message>) {
        // `@Sendable` does not change a closure's convention; the list of a local channel is used by one isolation domain.
        self = unsafeBitCast(body, to: Self.self)
    }

    @usableFromInline
    init<Owner, Message>(_ body: LocalBody2<Owner, Message>) {
        // The same.
        self = unsafeBitCast(body, to: Self.self)
    }
}

/// Something that crosses into a `@Sendable` closure although it is not Sendable: sound where one isolation domain both makes
/// and calls the closure, as on a `LocalChannel`.
@usableFromInline
struct Unchecked<Value>: @unchecked Sendable {  // see above: one isolation domain makes and uses it
    @usableFromInline let value: Value
    @inlinable init(_ value: Value) { self.value = value }
}

/// What an entry calls. It cannot be copied, so that the hot path borrows the closure and neither retains nor releases it.
struct ListenerBody: ~Copyable {
    private let call: BareCall

    init(_ call: BareCall) {
        self.call = call
    }

    /// What stands in place of a call that has been freed.
    static var empty: ListenerBody { ListenerBody(BareCall(call: { _, _, _ in })) }
}

// What a body may be.
private struct GeneralBody: ~Copyable { let call: ListenerCall }
private struct BareBody1: ~Copyable { let body: Body1<Erased> }
private struct BareBody2: ~Copyable { let body: Body2<Erased, Erased> }

extension UnsafePointer where Pointee == ListenerBody {
    /// Calls a body that is a `ListenerCall`.
    @inline(__always)
    func callGeneral(_ message: UnsafeMutableRawPointer, _ owner: UnsafeRawPointer?, _ frame: PostFrame.Pointer) {
        lend(UnsafeRawPointer(self).assumingMemoryBound(to: GeneralBody.self)) { $0.call(message, owner, frame) }
    }

    /// Calls a body that is a `Body1` of the message's type.
    @inline(__always)
    func callBare(_ message: UnsafeMutableRawPointer) {
        lend(UnsafeRawPointer(self).assumingMemoryBound(to: BareBody1.self)) {
            $0.body.call(message.assumingMemoryBound(to: Erased.self).pointee)
        }
    }

    /// Calls a body that is a `Body2` of the owner's and the message's types. `owner` is the address of the reference.
    @inline(__always)
    func callBare(_ message: UnsafeMutableRawPointer, owner: UnsafeMutableRawPointer) {
        lend(UnsafeRawPointer(self).assumingMemoryBound(to: BareBody2.self)) {
            $0.body.call(owner.assumingMemoryBound(to: Erased.self).pointee, message.assumingMemoryBound(to: Erased.self).pointee)
        }
    }
}

extension ListenerEntry {
    /// Calls the listener. The owner, where it has one, is held by the caller.
    @inline(__always)
    func run(_ message: UnsafeMutableRawPointer, _ owner: UnsafeRawPointer?, _ frame: PostFrame.Pointer) {
        let word = word.load(ordering: .relaxed)
        withUnsafePointer(to: body) { body in
            if word & Self.general != 0 {
                body.callGeneral(message, owner, frame)
            } else if var owner {
                withUnsafeMutablePointer(to: &owner) { body.callBare(message, owner: UnsafeMutableRawPointer($0)) }
            } else {
                body.callBare(message)
            }
        }
    }
}
