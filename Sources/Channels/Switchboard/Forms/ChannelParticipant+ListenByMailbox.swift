// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

extension ChannelParticipant where Self: Sendable {
    /// Registers an async listener that belongs to this object.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Self, [String: any Sendable]) async throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers an async listener that belongs to this object, and is told who posted.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Self, [String: any Sendable], PostInfo) async throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers an async listener that belongs to this object, and is handed a context of its own.
    ///
    /// The body has the isolation of the place where it is written. It never runs inside `post`: messages wait in its mailbox, and one call ends
    /// before the next begins. What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    /// Write a closure here: a function by name, or a closure kept in a variable, fits only if it is `@concurrent`.
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
    public func listen<Context: Sendable>(
        on name: ChannelName<[String: any Sendable]>,
        context: Context,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Self, [String: any Sendable], Context) async throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, context: context, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers a listener, called on a queue, that belongs to this object.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Self, [String: any Sendable]) throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, on: queue, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers a listener, called on a queue, that belongs to this object, and is told who posted.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and a ``PostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Self, [String: any Sendable], PostInfo) throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, on: queue, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Registers a listener, called on a queue, that belongs to this object, and is handed a context of its own.
    ///
    /// The body has no isolation. It runs on the queue, in order, never twice at once, and never inside `post`: messages wait in its mailbox.
    /// What it throws raises a ``Fault`` and stops nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel, which the listener keeps.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - queue: Any queue; a concurrent one too runs one call at a time.
    ///   - buffering: How many messages may wait in the mailbox; what a full one drops is counted and raises a fault.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    public func listen<Context: Sendable>(
        on name: ChannelName<[String: any Sendable]>,
        context: Context,
        priority: Priority = .normal,
        queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Self, [String: any Sendable], Context) throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, context: context, priority: priority, on: queue, buffering: buffering, fileID: fileID, line: line, body)
    }
}
