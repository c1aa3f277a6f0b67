// Written by Scripts/generate-forms. Change that, not this.

extension StateChannel {
    /// Registers a synchronous listener that belongs to an actor and runs on it.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every
    /// later one. What it throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner and the value.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, State) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, throwingBody: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a synchronous listener that belongs to an actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every
    /// later one. What it throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, State, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, throwingInformed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers a synchronous listener that belongs to an actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every
    /// later one. What it throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, State, Context) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, context: context, throwingContextual: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to an actor and runs on it.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. It is called with the current value, then with every later one. What it throws
    /// raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner and the value.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, State) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, asyncBody: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to an actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. It is called with the current value, then with every later one. What it throws
    /// raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, State, PostInfo) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, asyncInformed: body), priority, buffering, PackedSite(fileID, line), isolation)
    }

    /// Registers an async listener that belongs to an actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. It is called with the current value, then with every later one. What it throws
    /// raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, State, Context) async throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, context: context, asyncContextual: body), priority, buffering, PackedSite(fileID, line), isolation)
    }
}
