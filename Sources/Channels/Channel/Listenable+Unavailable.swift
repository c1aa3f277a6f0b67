public import Dispatch

// Calls that do not compile, with messages that say what to write. Each form stands for a likely mistake for
// which the compiler's own message misleads ("no exact matches", "requires that 'Panel' conform to 'Actor'").
// The compiler tries these forms if no other fits: a correct call costs next to nothing, and an error in a
// closure is checked again for each form that could take it: `Verification/CompilerErrors/check` measures this.

extension Listenable {
    /// Only an object can own a listener.
    @available(
        *,
        unavailable,
        message: """
            only an object can own a listener: an actor, or an instance of a Sendable class; without an owner write \
            'let token = source.listen { message in … }' and keep the token
            """
    )
    @discardableResult
    public func listen<Owner>(
        _ owner: Owner,
        on queue: DispatchQueue? = nil,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        _ body: @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ListenerToken {
        fatalError()
    }

    /// Call a method in a closure that takes the owner: as a value, the method would keep the owner alive.
    ///
    /// `any Sendable` takes the method and, unlike a function type, no trailing closure. Trailing closures go
    /// to `body`, so that an error inside one, or in a label, is still the one reported.
    @available(
        *,
        unavailable,
        message: "pass a closure that takes the owner: 'listen(owner) { me, message in me.method(message) }'"
    )
    @discardableResult
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        on queue: DispatchQueue? = nil,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        _ method: any Sendable...,
        body: (@isolated(any) @Sendable (Owner, Message) async throws -> Void)? = nil
    ) -> ListenerToken {
        fatalError()
    }

    /// The label of the queue is `on:`. Stands for the call with an owner and for the one without.
    @available(*, unavailable, message: "write 'on:' instead of 'queue:'")
    @discardableResult
    public func listen<each Owner>(
        _ owner: repeat each Owner,
        queue: DispatchQueue,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        _ body: @isolated(any) @Sendable (repeat each Owner, Message) async throws -> Void
    ) -> ListenerToken {
        fatalError()
    }
}

extension LocalListenable {
    /// A local channel has no asynchronous forms. Stands for the call with an owner and for the one without.
    @available(
        *,
        unavailable,
        message: """
            a local channel calls its listeners before 'post' returns, so they cannot await: \
            start a Task in the closure, or use a Channel
            """
    )
    @discardableResult
    public func listen<each Owner>(
        _ owner: repeat each Owner,
        priority: Priority = .normal,
        once: Bool = false,
        _ body: @isolated(any) (repeat each Owner, Message) async throws -> Void
    ) -> LocalListenerToken {
        fatalError()
    }
}
