// Written by Scripts/generate-forms. Change that, not this.

extension Switchboard {
    /// Registers a synchronous listener that belongs to an actor and runs on it.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted
    /// while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a synchronous listener that belongs to an actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted
    /// while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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
        _ body: @escaping @Sendable (isolated Owner, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(actor: owner, throwingInformedWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a synchronous listener that belongs to an actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted
    /// while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Context) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(actor: owner, context: context, throwingContextualWithoutMessage: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Registers an async listener that belongs to an actor and runs on it.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the
    /// listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers an async listener that belongs to an actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the
    /// listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: Actor, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Context) async throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(actor: owner, context: context, asyncContextualWithoutMessage: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }
}
