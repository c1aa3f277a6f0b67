// Written by Scripts/generate-forms. Change that, not this.

extension Switchboard {
    /// Registers a listener that may throw that belongs to an actor, on that actor.
    @discardableResult
    @inlinable
    public func listen<Message: Sendable, Owner: Actor>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, throwingBody: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that may throw that belongs to an actor, on that actor, which is also told who posted.
    @discardableResult
    @inlinable
    public func listen<Message: Sendable, Owner: Actor>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, throwingInformed: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that may throw that belongs to an actor, on that actor, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func listen<Message: Sendable, Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, context: context, throwingContextual: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an actor, on that actor.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Message: Sendable, Owner: Actor>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, asyncBody: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an actor, on that actor, which is also told who posted.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Message: Sendable, Owner: Actor>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, asyncInformed: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an actor, on that actor, which is handed a context of its own.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Message: Sendable, Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Message, Context) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, context: context, asyncContextual: body), to: name, priority, buffering, PackedSite(fileID, line))
    }
}
