// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension Switchboard {
    /// Registers, for one message, a listener that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, body: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, informed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, context: context, contextual: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, throwingBody: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, throwingInformed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, context: context, throwingContextual: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, an async listener that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, asyncBody: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, asyncInformed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) async throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, context: context, asyncContextual: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, a listener on a queue that belongs to an object.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, queue: queue, body: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to an object, which is also told who posted.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, queue: queue, informed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to an object, which is handed a context of its own.
    @discardableResult
    @inlinable
    public func once<Message: Sendable, Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        context: Context,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, queue: queue, context: context, contextual: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, a listener that belongs to the token returned.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(body: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(informed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to the token returned.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(throwingBody: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that may throw that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(throwingInformed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to the token returned.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(asyncBody: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(asyncInformed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to the token returned.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(queue: queue, body: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener on a queue that belongs to the token returned, which is also told who posted.
    @inlinable
    public func once<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(queue: queue, informed: body), to: name, priority, buffering, PackedSite(fileID, line), once: true)
    }
}
