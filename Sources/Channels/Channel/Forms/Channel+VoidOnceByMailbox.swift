// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension Channel where Message == Void {
    /// Registers, for one message, an async listener that belongs to an object.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post
    /// does not call it again. Messages posted while the listener is paused are missed. Write a closure here: a function by name, or a closure
    /// kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, asyncBodyWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post
    /// does not call it again. Messages posted while the listener is paused are missed. Write a closure here: a function by name, or a closure
    /// kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, asyncInformedWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post
    /// does not call it again. Messages posted while the listener is paused are missed. Write a closure here: a function by name, or a closure
    /// kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Context) async throws -> Void
    ) -> ListenerToken {
        list.register(
            ListenerPlan(owner: owner, context: context, asyncContextualWithoutMessage: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, a listener, called on a queue, that belongs to an object.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post does not call it again.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, queue: queue, bodyWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener, called on a queue, that belongs to an object, and is told who posted.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post does not call it again.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func once<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(
            ListenerPlan(owner: owner, queue: queue, informedWithoutMessage: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, a listener, called on a queue, that belongs to an object, and is handed a context of its own.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post does not call it again.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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
        _ body: @escaping @Sendable (Owner, Context) throws -> Void
    ) -> ListenerToken {
        list.register(
            ListenerPlan(owner: owner, queue: queue, context: context, contextualWithoutMessage: body),
            priority,
            buffering,
            PackedSite(fileID, line),
            once: true
        )
    }

    /// Registers, for one message, an async listener that lives as long as the token returned.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post
    /// does not call it again. Messages posted while the listener is paused are missed. Write a closure here: a function by name, or a closure
    /// kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes nothing.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable () async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(asyncBodyWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, an async listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post
    /// does not call it again. Messages posted while the listener is paused are missed. Write a closure here: a function by name, or a closure
    /// kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @_disfavoredOverload
    @inlinable
    public func once(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(asyncInformedWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener, called on a queue, that lives as long as the token returned.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post does not call it again.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes nothing.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func once(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable () throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(queue: queue, bodyWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener, called on a queue, that lives as long as the token returned, and is told who posted.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. It is taken out before it is called, so that a nested post does not call it again.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @_disfavoredOverload
    @inlinable
    public func once(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(queue: queue, informedWithoutMessage: body), priority, buffering, PackedSite(fileID, line), once: true)
    }
}
