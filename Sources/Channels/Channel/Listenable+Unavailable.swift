public import Dispatch

// Calls that do not compile, and what to write instead. Each form here stands for a likely mistake for which
// the compiler's own message misleads ("no exact matches", "requires that 'Panel' conform to 'Actor'"); where
// it is clear, there is none. The compiler turns to these forms once no other fits: a correct call costs next
// to nothing, an error in a closure is checked once more for each form that could take the closure.
// `Verification/Diagnostics/check` compares the messages and measures that cost.

extension Listenable {
    /// What is not an object cannot own a listener.
    @available(
        *,
        unavailable,
        message: """
            only an object can own a listener, of a Sendable class or an actor; without an owner write \
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

    /// A method is called in a closure that takes the owner: as a value it would keep the owner alive.
    ///
    /// `any Sendable` takes the method and, unlike a function type, no trailing closure; those go to `body`,
    /// which is never what is wrong, so that an error inside one, or in a label, is still the one reported.
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
            a local channel calls its listeners before 'post' returns, so that they cannot await: \
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
