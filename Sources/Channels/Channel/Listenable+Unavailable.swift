public import Dispatch

// Calls that do not compile, with messages that say what to write. Each form covers a likely mistake for which the
// compiler's own message is misleading. None has a parameter that could take the trailing closure of another call,
// because the compiler checks a closure with an error in it again for each form that could take it. A form for a struct
// as the owner would need such a parameter. When it was tried, every error in a closure took a fifth longer to compile:
// see `Decisions/FormsOfListen.md`.

extension Listenable {
    /// Call the method in a closure that takes the owner. Passed as a value, the method would keep the owner alive.
    ///
    /// A parameter of type `any Sendable` accepts the method but, unlike one of function type, no trailing closure. If
    /// the owner were generic, it would accept the closure of a call without an owner, and hide what is wrong with that
    /// call.
    @available(
        *,
        unavailable,
        message: "pass a closure that takes the owner: 'listen(owner) { me, message in me.method(message) }'"
    )
    @discardableResult
    public func listen(
        _ owner: any AnyObject & Sendable,
        on queue: DispatchQueue? = nil,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        _ method: any Sendable...
    ) -> ListenerToken {
        fatalError()
    }

    /// The queue's label is `on:`. Covers calls with and without an owner.
    @available(*, unavailable, message: "write 'on:' instead of 'queue:'")
    @discardableResult
    public func listen<each Owner>(
        _ owner: repeat each Owner,
        queue: DispatchQueue,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        _ body: @isolated(any) @Sendable (repeat each Owner, Message) async throws -> Void
    ) -> ListenerToken {
        fatalError()
    }
}

extension LocalListenable {
    /// A local channel has no asynchronous forms. Covers calls with and without an owner.
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
        priority: ListenerPriority = .normal,
        once: Bool = false,
        _ body: @isolated(any) (repeat each Owner, Message) async throws -> Void
    ) -> LocalListenerToken {
        fatalError()
    }
}
