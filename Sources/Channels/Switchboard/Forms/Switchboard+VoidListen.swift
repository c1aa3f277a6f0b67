// Written by Scripts/generate-forms. Change that, not this.

extension Switchboard {
    /// Registers a listener that belongs to an object.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a listener that belongs to an object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
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
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, PostInfo) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, informedWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
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
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Context) -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, context: context, contextualWithoutMessage: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Registers a throwing listener that belongs to an object.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener
    /// is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that belongs to an object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener
    /// is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
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
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(owner: owner, throwingInformedWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener
    /// is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
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
    public func listen<Owner: AnyObject & Sendable, Context: Sendable>(
        _ owner: Owner,
        to name: ChannelName<Void>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Context) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, context: context, throwingContextualWithoutMessage: body),
            to: name,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Registers a listener that lives as long as the token returned.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes nothing.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @_disfavoredOverload
    @inlinable
    public func listen(
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (PostInfo) -> Void
    ) -> ListenerToken {
        register(ListenerPlan(informedWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that lives as long as the token returned.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener
    /// is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes nothing.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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

    /// Registers a throwing listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. If that is the poster's, or none, and nothing waits for it, it runs before
    /// `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener
    /// is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes a ``PostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @_disfavoredOverload
    @inlinable
    public func listen(
        to name: ChannelName<Void>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (PostInfo) throws -> Void
    ) -> ListenerToken {
        register(ListenerPlan(throwingInformedWithoutMessage: body), to: name, priority, buffering, PackedSite(fileID, line))
    }
}
