// Written by Scripts/generate-forms. Change that, not this.

extension Channel {
    /// Registers, for one message, a listener that may throw that belongs to an actor, on that actor.
    @discardableResult
    @inlinable
    public func once<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(actor: owner, throwingBody: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an actor, on that actor, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(actor: owner, throwingInformed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an actor, on that actor, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        list.register(
            ListenerPlan(actor: owner, context: context, throwingContextual: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, an async listener that belongs to an actor, on that actor.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func once<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(actor: owner, asyncBody: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an actor, on that actor, which is also told who posted.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func once<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(actor: owner, asyncInformed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an actor, on that actor, which is handed a context of its own.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func once<Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, Context) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(actor: owner, context: context, asyncContextual: body), priority, buffering, PackedSite(fileID, line), once: true)
    }
}
