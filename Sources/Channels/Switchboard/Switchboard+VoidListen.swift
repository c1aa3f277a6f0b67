// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension Switchboard {
    /// Registers a listener that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, bodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that may throw that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, throwingBodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, asyncBodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener on a queue that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, queue: queue, bodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that may throw that belongs to an actor, on that actor.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, throwingBodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an actor, on that actor.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, asyncBodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that belongs to the token returned.
    @inlinable
    public func listen(
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable () -> Void
    ) -> ListenerToken {
        register(ListenerPlan(bodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that may throw that belongs to the token returned.
    @inlinable
    public func listen(
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable () throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(throwingBodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to the token returned.
    @inlinable
    public func listen(
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable () async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(asyncBodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener on a queue that belongs to the token returned.
    @inlinable
    public func listen(
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable () throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(queue: queue, bodyWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }
}
