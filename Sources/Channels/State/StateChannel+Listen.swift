// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension StateChannel {
    /// Registers a listener that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, body: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State, PostInfo) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, informed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State, Context) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, context: context, contextual: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that may throw that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, throwingBody: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that may throw that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, throwingInformed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that may throw that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State, Context) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, context: context, throwingContextual: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, asyncBody: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State, PostInfo) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, asyncInformed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, State, Context) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, context: context, asyncContextual: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener on a queue that belongs to an object.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, State) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, queue: queue, body: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener on a queue that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, State, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, queue: queue, informed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener on a queue that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, State, Context) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, queue: queue, context: context, contextual: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            isolation
        )
    }

    /// Registers a listener that belongs to the token returned.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (State) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(body: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that belongs to the token returned, which is also told who posted.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (State, PostInfo) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(informed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that may throw that belongs to the token returned.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (State) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(throwingBody: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener that may throw that belongs to the token returned, which is also told who posted.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (State, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(throwingInformed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to the token returned.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (State) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(asyncBody: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to the token returned, which is also told who posted.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (State, PostInfo) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(asyncInformed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener on a queue that belongs to the token returned.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (State) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(queue: queue, body: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a listener on a queue that belongs to the token returned, which is also told who posted.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (State, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(queue: queue, informed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }
}
