public import Dispatch

// Calls that do not compile, with messages that say what to write. Each form stands for a likely mistake for
// which the compiler's own message misleads. None has a parameter that a trailing closure of another call fits:
// an error in a closure is checked again for each form that could take it. A form for a struct as the owner
// needs one, and made every error in a closure a fifth dearer: see `Decisions/FormsOfListen.md`.

extension Listenable {
    /// Call a method in a closure that takes the owner: as a value, the method would keep the owner alive.
    ///
    /// `any Sendable` takes the method and, unlike a function type, no trailing closure. A generic owner would take the
    /// closure of a call without an owner, and hide what is wrong in it.
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

    /// The label of the queue is `on:`. Covers calls with and without an owner.
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
