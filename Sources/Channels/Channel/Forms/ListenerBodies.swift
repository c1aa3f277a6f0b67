// Written by Scripts/generate-forms. Change that, not this.

// A synchronous closure of type `@isolated(any)` has the calling convention of a plain one: the isolation stands in its context, read
// through `.isolation` and enforced by whoever calls. The same holds for `isolated Owner`, which is an ordinary argument. The list
// calls such a closure only on the isolation given in the plan. The casts go through structs with one field and the same generic
// parameters under the same constraints: cast by itself, a closure is wrapped in two thunks with an allocation each, and a parameter
// constrained to a class is passed by reference where an unconstrained one is passed by address.

@usableFromInline
struct IsolatedBody0: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable () -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable () -> Void) { self.call = call }
}

@usableFromInline
struct Body0: Sendable {
    @usableFromInline let call: @Sendable () -> Void
    @inlinable init(_ call: @escaping @Sendable () -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: IsolatedBody0) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct IsolatedBody1<A: ~Copyable>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (borrowing A) -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (borrowing A) -> Void) { self.call = call }
}

@usableFromInline
struct Body1<A: ~Copyable>: Sendable {
    @usableFromInline let call: @Sendable (borrowing A) -> Void
    @inlinable init(_ call: @escaping @Sendable (borrowing A) -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: IsolatedBody1<A>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct IsolatedBody2<A: ~Copyable, B: ~Copyable>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (borrowing A, borrowing B) -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (borrowing A, borrowing B) -> Void) { self.call = call }
}

@usableFromInline
struct Body2<A: ~Copyable, B: ~Copyable>: Sendable {
    @usableFromInline let call: @Sendable (borrowing A, borrowing B) -> Void
    @inlinable init(_ call: @escaping @Sendable (borrowing A, borrowing B) -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: IsolatedBody2<A, B>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct IsolatedBody3<A, B, C>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (A, B, C) -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (A, B, C) -> Void) { self.call = call }
}

@usableFromInline
struct Body3<A, B, C>: Sendable {
    @usableFromInline let call: @Sendable (A, B, C) -> Void
    @inlinable init(_ call: @escaping @Sendable (A, B, C) -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: IsolatedBody3<A, B, C>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingIsolatedBody0: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable () throws -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable () throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingBody0: Sendable {
    @usableFromInline let call: @Sendable () throws -> Void
    @inlinable init(_ call: @escaping @Sendable () throws -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: ThrowingIsolatedBody0) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingIsolatedBody1<A>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (A) throws -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (A) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingLocalActorBody1<A: Actor> {
    @usableFromInline let call: (isolated A) throws -> Void
    @inlinable init(_ call: @escaping (isolated A) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingIsolatedActorBody1<A: Actor>: Sendable {
    @usableFromInline let call: @Sendable (isolated A) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (isolated A) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingActorBody1<A: Actor>: Sendable {
    @usableFromInline let call: @Sendable (A) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A) throws -> Void) { self.call = call }
    // The same: `isolated` marks an ordinary argument.
    @inlinable init(unisolated body: ThrowingIsolatedActorBody1<A>) { self = unsafeBitCast(body, to: Self.self) }
    // The same, and it is called on the actor that owns the channel: nothing is sent anywhere.
    @inlinable init(unisolated body: ThrowingLocalActorBody1<A>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingBody1<A>: Sendable {
    @usableFromInline let call: @Sendable (A) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A) throws -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: ThrowingIsolatedBody1<A>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingIsolatedBody2<A, B>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (A, B) throws -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (A, B) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingLocalActorBody2<A: Actor, B> {
    @usableFromInline let call: (isolated A, B) throws -> Void
    @inlinable init(_ call: @escaping (isolated A, B) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingIsolatedActorBody2<A: Actor, B>: Sendable {
    @usableFromInline let call: @Sendable (isolated A, B) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (isolated A, B) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingActorBody2<A: Actor, B>: Sendable {
    @usableFromInline let call: @Sendable (A, B) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A, B) throws -> Void) { self.call = call }
    // The same: `isolated` marks an ordinary argument.
    @inlinable init(unisolated body: ThrowingIsolatedActorBody2<A, B>) { self = unsafeBitCast(body, to: Self.self) }
    // The same, and it is called on the actor that owns the channel: nothing is sent anywhere.
    @inlinable init(unisolated body: ThrowingLocalActorBody2<A, B>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingBody2<A, B>: Sendable {
    @usableFromInline let call: @Sendable (A, B) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A, B) throws -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: ThrowingIsolatedBody2<A, B>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingIsolatedBody3<A, B, C>: Sendable {
    @usableFromInline let call: @isolated(any) @Sendable (A, B, C) throws -> Void
    @inlinable init(_ call: @escaping @isolated(any) @Sendable (A, B, C) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingLocalActorBody3<A: Actor, B, C> {
    @usableFromInline let call: (isolated A, B, C) throws -> Void
    @inlinable init(_ call: @escaping (isolated A, B, C) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingIsolatedActorBody3<A: Actor, B, C>: Sendable {
    @usableFromInline let call: @Sendable (isolated A, B, C) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (isolated A, B, C) throws -> Void) { self.call = call }
}

@usableFromInline
struct ThrowingActorBody3<A: Actor, B, C>: Sendable {
    @usableFromInline let call: @Sendable (A, B, C) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A, B, C) throws -> Void) { self.call = call }
    // The same: `isolated` marks an ordinary argument.
    @inlinable init(unisolated body: ThrowingIsolatedActorBody3<A, B, C>) { self = unsafeBitCast(body, to: Self.self) }
    // The same, and it is called on the actor that owns the channel: nothing is sent anywhere.
    @inlinable init(unisolated body: ThrowingLocalActorBody3<A, B, C>) { self = unsafeBitCast(body, to: Self.self) }
}

@usableFromInline
struct ThrowingBody3<A, B, C>: Sendable {
    @usableFromInline let call: @Sendable (A, B, C) throws -> Void
    @inlinable init(_ call: @escaping @Sendable (A, B, C) throws -> Void) { self.call = call }
    // The calling convention is the same; see the head of this file.
    @inlinable init(unisolated body: ThrowingIsolatedBody3<A, B, C>) { self = unsafeBitCast(body, to: Self.self) }
}
