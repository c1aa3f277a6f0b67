public import Dispatch

/// The forms of `listen`, one for each kind of closure that the compiler tells apart. Everything else is a parameter.
/// For the sender, listen to ``posts``.
extension Listenable {

    /// Registers a listener that belongs to an object.
    ///
    /// The closure inherits the isolation of the code around it. If it is nonisolated, or has the poster's isolation,
    /// it is called before `post` returns; ``Channel`` says when not. Otherwise it is called from its mailbox, one call
    /// at a time, in the order of each poster's posts. No lock is held during a call. A paused listener misses
    /// messages. If the closure throws, the fault ``Fault/Code/listenerThrew`` is raised, and the other listeners are
    /// called.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, but strongly during each call. The listener ends with it.
    ///   - priority: Listeners with higher priority are reached first; those with equal priority, in the order of
    ///     registration.
    ///   - once: Whether the listener receives only one message. It is removed before it is called.
    ///   - buffering: How many messages may wait, and which one is dropped when there are more. Unlimited by default.
    /// - Returns: The token. It may be ignored, because the listener lives as long as its owner. For the same reason,
    ///   overwriting the token does not end the listener: see ``ListenerToken/store(replacing:)``.
    /// - Complexity: O(log *p*) for one of *p* priorities in use, O(*p*) for a new one.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let call = BareCall(Body2(unisolated: IsolatedBody2(body)))
        return register(Listener(owner, .isolated(body.isolation), options, isBare: true, call), isolation: isolation)
    }

    /// Registers an asynchronous listener that belongs to an object.
    ///
    /// The closure inherits the isolation of the code around it. The listener has its own mailbox. Its calls are
    /// awaited one at a time, in the order of each poster's posts, unless `overlapping` says otherwise. The order among
    /// several asynchronous listeners is not defined. Cancelling the listener does not cancel a running call, except
    /// with ``OverlappingPolicy/replace``. A paused listener misses messages. If the closure throws, the fault
    /// ``Fault/Code/listenerThrew`` is raised.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, but strongly during each call. The listener ends with it.
    ///   - buffering: How many messages may wait, and which one is dropped when there are more. Unlimited by default.
    ///   - overlapping: What happens to a message that arrives during a call.
    /// - Returns: The token. It may be ignored, because the listener lives as long as its owner. For the same reason,
    ///   overwriting the token does not end the listener: see ``ListenerToken/store(replacing:)``.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        overlapping: OverlappingPolicy = .queue,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(owner, on: .closure(body.isolation), options, overlapping) {
            message,
            owner,
            _ in
            guard let owner else { return }
            // The list passes in the object that was registered.
            try await body(known(owner, as: Owner.self), message.load(as: Message.self))
        }
        return register(listener, isolation: isolation)
    }

    /// Registers a listener that belongs to an object and is called on a dispatch queue.
    ///
    /// Calls never overlap, even on a concurrent queue, and are made in the order of each poster's posts. The closure
    /// is nonisolated. A paused listener misses messages. If the closure throws, the fault ``Fault/Code/listenerThrew``
    /// is raised.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, but strongly during each call. The listener ends with it.
    ///   - queue: The queue. Listeners on one queue are called in the order in which messages were posted.
    ///   - buffering: How many messages may wait, and which one is dropped when there are more. Unlimited by default.
    /// - Returns: The token. It may be ignored, because the listener lives as long as its owner. For the same reason,
    ///   overwriting the token does not end the listener: see ``ListenerToken/store(replacing:)``.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        on queue: DispatchQueue,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let call = BareCall(Body2(body))
        return register(Listener(owner, .queue(queue), options, isBare: true, call), isolation: isolation)
    }

    /// Registers a listener that belongs to an actor and runs on it.
    ///
    /// If the poster is on the actor, it is called before `post` returns; ``Channel`` says when not. Otherwise it is
    /// called from its mailbox, one call at a time, in the order of each poster's posts. A paused listener misses
    /// messages. If the closure throws, the fault ``Fault/Code/listenerThrew`` is raised.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, but strongly during each call. The listener ends with it.
    ///   - buffering: How many messages may wait, and which one is dropped when there are more. Unlimited by default.
    /// - Returns: The token. It may be ignored, because the listener lives as long as its owner. For the same reason,
    ///   overwriting the token does not end the listener: see ``ListenerToken/store(replacing:)``.
    @discardableResult @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (isolated Owner, Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let call = BareCall(Body2(unisolated: ActorBody2(body)))
        return register(Listener(owner, .owner, options, isBare: true, call), isolation: isolation)
    }

    /// Registers an asynchronous listener that belongs to an actor and runs on it.
    ///
    /// Calls are awaited one at a time, in the order of each poster's posts, unless `overlapping` says otherwise. While
    /// a call is suspended, the actor may do other work. A paused listener misses messages. If the closure throws, the
    /// fault ``Fault/Code/listenerThrew`` is raised.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, but strongly during each call. The listener ends with it.
    ///   - buffering: How many messages may wait, and which one is dropped when there are more. Unlimited by default.
    ///   - overlapping: What happens to a message that arrives during a call.
    /// - Returns: The token. It may be ignored, because the listener lives as long as its owner. For the same reason,
    ///   overwriting the token does not end the listener: see ``ListenerToken/store(replacing:)``.
    @discardableResult @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        overlapping: OverlappingPolicy = .queue,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (isolated Owner, Message) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(owner, on: .owner, options, overlapping) { message, owner, _ in
            guard let owner else { return }
            // The list passes in the object that was registered.
            try await body(known(owner, as: Owner.self), message.load(as: Message.self))
        }
        return register(listener, isolation: isolation)
    }

    /// Registers a listener that lives as long as the token returned.
    ///
    /// The closure inherits the isolation of the code around it. If it is nonisolated, or has the poster's isolation,
    /// it is called before `post` returns; ``Channel`` says when not. Otherwise it is called from its mailbox, one call
    /// at a time, in the order of each poster's posts. A paused listener misses messages.
    ///
    /// - Parameters:
    ///   - priority: Listeners with higher priority are reached first; those with equal priority, in the order of
    ///     registration.
    ///   - once: Whether the listener receives only one message. It is removed before it is called.
    ///   - buffering: How many messages may wait, and which one is dropped when there are more. Unlimited by default.
    /// - Returns: The token. The listener is cancelled when the last reference to it is released.
    /// - Complexity: O(log *p*) for one of *p* priorities in use, O(*p*) for a new one.
    @inlinable
    public func listen(
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let call = BareCall(Body1(unisolated: IsolatedBody1(body)))
        return register(Listener(nil, .isolated(body.isolation), options, isBare: true, call), isolation: isolation)
    }

    /// Registers a throwing listener that lives as long as the token returned.
    ///
    /// The closure inherits the isolation of the code around it. If it is nonisolated, or has the poster's isolation,
    /// it is called before `post` returns; ``Channel`` says when not. Otherwise it is called from its mailbox, in the
    /// order of each poster's posts. An error raises ``Fault/Code/listenerThrew`` and does not affect other listeners.
    ///
    /// - Returns: The token. The listener is cancelled when the last reference to it is released.
    @inlinable
    public func listen(
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let delivery = Registration.Delivery.isolated(body.isolation)
        let plain = ThrowingBody1(unisolated: ThrowingIsolatedBody1(body)).call
        let listener = Listener<Message>(nil, delivery, options) { message, _, frame in
            message.lend(as: Message.self) { message in
                do { try plain(message) } catch { frame.report(error) }
            }
        }
        return register(listener, isolation: isolation)
    }

    /// Registers an asynchronous listener that lives as long as the token returned.
    ///
    /// The closure inherits the isolation of the code around it. Calls are awaited one at a time, in the order of each
    /// poster's posts, unless `overlapping` says otherwise. An error raises ``Fault/Code/listenerThrew``.
    ///
    /// - Parameter overlapping: What happens to a message that arrives during a call.
    /// - Returns: The token. The listener is cancelled when the last reference to it is released.
    @inlinable
    public func listen(
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        overlapping: OverlappingPolicy = .queue,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(nil, on: .closure(body.isolation), options, overlapping) { message, _, _ in
            try await body(message.load(as: Message.self))
        }
        return register(listener, isolation: isolation)
    }

    /// Registers a listener that lives as long as the token returned and is called on a dispatch queue.
    ///
    /// Calls never overlap, even on a concurrent queue, and are made in the order of each poster's posts. An error
    /// raises ``Fault/Code/listenerThrew``.
    ///
    /// - Parameter queue: The queue. Listeners on one queue are called in the order in which messages were
    ///   posted.
    /// - Returns: The token. The listener is cancelled when the last reference to it is released.
    @inlinable
    public func listen(
        on queue: DispatchQueue,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(nil, .queue(queue), options) { message, _, frame in
            message.lend(as: Message.self) { message in
                do { try body(message) } catch { frame.report(error) }
            }
        }
        return register(listener, isolation: isolation)
    }
}
