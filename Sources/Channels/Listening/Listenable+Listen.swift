public import Dispatch

/// The forms of listening: one for each kind of closure that the compiler tells apart. Everything else about
/// a listener is a parameter, and everything else about a post is a value (``posts``).
extension Listenable {
    // MARK: Owned by an object

    /// Registers a listener that belongs to an object.
    ///
    /// The closure has the isolation of the place where it is written. If the poster has the same, or the
    /// closure has none, it is called before `post` returns; otherwise from its mailbox, one call at a time,
    /// FIFO per poster. No lock is held during the call. Messages posted while the listener is paused are
    /// missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and strongly during each call. The listener ends with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of
    ///     registration.
    ///   - once: Whether the listener ends with the first message. It ends before it is called.
    ///   - buffering: How many messages may wait for the listener, and which is dropped when one more
    ///     arrives; by default, there is no bound. Has no effect on direct calls.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use; O(*p*) for one that is not.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let call = BareCall(Body2(unisolated: IsolatedBody2(body)))
        return register(Listener(owner, .isolated(body.isolation), options, isBare: true, call), isolation: isolation)
    }

    /// Registers a listener that belongs to an object and may throw.
    ///
    /// An error it throws raises ``Fault/Code/listenerThrew`` and does not affect other listeners. Otherwise
    /// it is like a closure that does not throw.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let delivery = Registration.Delivery.isolated(body.isolation)
        let plain = ThrowingBody2(unisolated: ThrowingIsolatedBody2(body)).call
        let listener = Listener<Message>(owner, delivery, options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                message.lend(as: Message.self) { message in
                    do { try plain(owner, message) } catch { frame.listenerThrew(error) }
                }
            }
        }
        return register(listener, isolation: isolation)
    }

    /// Registers an asynchronous listener that belongs to an object.
    ///
    /// It has a mailbox of its own: calls are awaited one at a time, FIFO per poster. The order among several
    /// asynchronous listeners is not promised. Cancelling the listener does not cancel a call under way.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(owner, on: .closure(body.isolation), options) { message, owner, _ in
            guard let owner else { return }
            // The list hands back the object registered.
            try await body(known(owner, as: Owner.self), message.load(as: Message.self))
        }
        return register(listener, isolation: isolation)
    }

    /// Registers a listener that belongs to an object and is called on a dispatch queue.
    ///
    /// One call at a time, FIFO per poster, on a concurrent queue too.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        on queue: DispatchQueue,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(owner, .queue(queue), options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                message.lend(as: Message.self) { message in
                    do { try body(owner, message) } catch { frame.listenerThrew(error) }
                }
            }
        }
        return register(listener, isolation: isolation)
    }

    // MARK: Owned by an actor

    /// Registers a listener that belongs to an actor and runs on it.
    ///
    /// If the poster is isolated to the actor, it is called before `post` returns; otherwise from its
    /// mailbox.
    @discardableResult @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (isolated Owner, Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let plain = ThrowingActorBody2(unisolated: ThrowingIsolatedActorBody2(body)).call
        let listener = Listener<Message>(owner, .owner, options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                message.lend(as: Message.self) { message in
                    do { try plain(owner, message) } catch { frame.listenerThrew(error) }
                }
            }
        }
        return register(listener, isolation: isolation)
    }

    /// Registers an asynchronous listener that belongs to an actor and runs on it.
    ///
    /// Calls are awaited one at a time; while one is suspended, the actor does other work.
    @discardableResult @inlinable
    public func listen<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (isolated Owner, Message) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(owner, on: .owner, options) { message, owner, _ in
            guard let owner else { return }
            // The list hands back the object registered.
            try await body(known(owner, as: Owner.self), message.load(as: Message.self))
        }
        return register(listener, isolation: isolation)
    }

    // MARK: Owned by the token

    /// Registers a listener that lives as long as the token returned.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of
    ///     registration.
    ///   - once: Whether the listener ends with the first message. It ends before it is called.
    ///   - buffering: How many messages may wait for the listener, and which is dropped when one more
    ///     arrives.
    ///   - body: Takes the message.
    /// - Returns: The token. The listener is cancelled when the last reference to it is released.
    /// - Complexity: O(log *p*) in the number of priorities in use; O(*p*) for one that is not.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let call = BareCall(Body1(unisolated: IsolatedBody1(body)))
        return register(Listener(nil, .isolated(body.isolation), options, isBare: true, call), isolation: isolation)
    }

    /// Registers a listener that lives as long as the token returned and may throw.
    ///
    /// An error it throws raises ``Fault/Code/listenerThrew``.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
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
                do { try plain(message) } catch { frame.listenerThrew(error) }
            }
        }
        return register(listener, isolation: isolation)
    }

    /// Registers an asynchronous listener that lives as long as the token returned.
    ///
    /// Calls are awaited one at a time, FIFO per poster.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(nil, on: .closure(body.isolation), options) { message, _, _ in
            try await body(message.load(as: Message.self))
        }
        return register(listener, isolation: isolation)
    }

    /// Registers a listener that lives as long as the token returned and is called on a dispatch queue.
    ///
    /// One call at a time, FIFO per poster, on a concurrent queue too.
    @inlinable
    public func listen(
        on queue: DispatchQueue,
        priority: Priority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (Message) throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(priority, once: once, buffering: buffering, fileID, line)
        let listener = Listener<Message>(nil, .queue(queue), options) { message, _, frame in
            message.lend(as: Message.self) { message in
                do { try body(message) } catch { frame.listenerThrew(error) }
            }
        }
        return register(listener, isolation: isolation)
    }
}
