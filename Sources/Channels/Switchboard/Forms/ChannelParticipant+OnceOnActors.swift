// Written by Scripts/generate-forms. Change that, not this.

extension ChannelParticipant where Self: Actor {
    /// Registers, for one message, a synchronous listener that belongs to this actor and runs on it.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. It is taken out
    /// before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func once(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Self, [String: any Sendable]) throws -> Void
    ) -> ListenerToken {
        switchboard.once(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers, for one message, a synchronous listener that belongs to this actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. It is taken out
    /// before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner, the message and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func once(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Self, [String: any Sendable], PostInfo) throws -> Void
    ) -> ListenerToken {
        switchboard.once(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers, for one message, a synchronous listener that belongs to this actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`. Where the poster is on that actor, and nothing waits for it,
    /// it runs before `post` returns; else when its mailbox gets to it. What it throws raises a ``Fault`` and stops nothing. It is taken out
    /// before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault. Of no effect on direct
    ///     calls.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func once<Context: Sendable>(
        on name: ChannelName<[String: any Sendable]>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Self, [String: any Sendable], Context) throws -> Void
    ) -> ListenerToken {
        switchboard.once(self, to: name, context: context, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers, for one message, an async listener that belongs to this actor and runs on it.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it
    /// is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    public func once(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Self, [String: any Sendable]) async throws -> Void
    ) -> ListenerToken {
        switchboard.once(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers, for one message, an async listener that belongs to this actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it
    /// is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    public func once(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Self, [String: any Sendable], PostInfo) async throws -> Void
    ) -> ListenerToken {
        switchboard.once(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers, for one message, an async listener that belongs to this actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, so that it uses the owner without `await`, and may suspend. It never runs inside `post`: messages wait
    /// in its mailbox, and one call ends before the next begins. What it throws raises a ``Fault`` and stops nothing. It is taken out before it
    /// is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    public func once<Context: Sendable>(
        on name: ChannelName<[String: any Sendable]>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Self, [String: any Sendable], Context) async throws -> Void
    ) -> ListenerToken {
        switchboard.once(self, to: name, context: context, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }
}
