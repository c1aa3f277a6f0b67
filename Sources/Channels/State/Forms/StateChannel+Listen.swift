// Written by Scripts/generate-forms. Change that, not this.

extension StateChannel {
    /// Registers a listener that belongs to an object.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. Resumed
    /// after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner and the value.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a listener that belongs to an object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. Resumed
    /// after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. Resumed
    /// after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that belongs to an object.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. What it
    /// throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner and the value.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that belongs to an object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. What it
    /// throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. What it
    /// throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the owner, the value and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a listener that lives as long as the token returned.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. Resumed
    /// after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the value.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. Resumed
    /// after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the value and a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that lives as long as the token returned.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. What it
    /// throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the value.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `set`, or this method, returns; else when its mailbox gets to it. It is called with the current value, then with every later one. What it
    /// throws raises a ``Fault`` and stops nothing. Resumed after a pause, it gets the current value first.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - isolation: The caller's. Leave it out.
    ///   - body: Takes the value and a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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
}
