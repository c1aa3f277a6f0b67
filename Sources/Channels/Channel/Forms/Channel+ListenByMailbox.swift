// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension Channel {
    /// Registers an async listener that belongs to an object.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, asyncBody: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, asyncInformed: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message, Context) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, context: context, asyncContextual: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener, called on a queue, that belongs to an object.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, queue: queue, body: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener, called on a queue, that belongs to an object, and is told who posted.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, queue: queue, informed: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener, called on a queue, that belongs to an object, and is handed a context of its own.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, Context) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(owner: owner, queue: queue, context: context, contextual: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that lives as long as the token returned.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the message.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(asyncBody: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers an async listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`. On a channel of pairs `{ a, b
    /// in }` is this form, and `b` the post; `{ (a: A, b: B) in }` takes the pair apart.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the message and a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message, PostInfo) async throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(asyncInformed: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener, called on a queue, that lives as long as the token returned.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the message.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(queue: queue, body: body), priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener, called on a queue, that lives as long as the token returned, and is told who posted.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the message and a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message, PostInfo) throws -> Void
    ) -> ListenerToken {
        list.register(ListenerPlan(queue: queue, informed: body), priority, buffering, PackedSite(fileID, line))
    }
}
