// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension Channel {
    /// Registers, for one message, a listener that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, body: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, informed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, context: context, contextual: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, throwingBody: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, throwingInformed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        list.register(
            ListenerPlan(owner: owner, context: context, throwingContextual: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, an async listener that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, asyncBody: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, asyncInformed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, context: context, asyncContextual: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, queue: queue, body: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, queue: queue, informed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        list.register(
            ListenerPlan(owner: owner, queue: queue, context: context, contextual: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, a listener that belongs to the token returned.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(body: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(informed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to the token returned.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(throwingBody: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(throwingInformed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to the token returned.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(asyncBody: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(asyncInformed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to the token returned.
    @inlinable
    public func once(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(queue: queue, body: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(queue: queue, informed: body), priority, buffering, PackedSite(fileID, line), once: true)
    }
}
