public import Dispatch

/// The forms of listening. There is one for each kind of closure that the compiler tells apart, and no more:
/// what else there is to say about a listener is a parameter, and what there is to know of a post is a value
/// (``posts``).
extension Listenable {
    // MARK: Owned by an object

    /// Registers a listener that belongs to an object.
    ///
    /// The closure has the isolation of the place where it is written. Where the poster has the same, or the
    /// closure none, it is called before `post` returns; else when its mailbox gets to it, one call at a
    /// time, in the order in which one poster posted. No lock is held during the call. Messages posted while
    /// the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of
    ///     registration.
    ///   - once: Whether the listener ends with the first message. It ends before it is called.
    ///   - buffering: How many messages may wait for the listener, and which are dropped when more come.
    ///     Without it, all of them wait. Of no effect on direct calls.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
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
    /// What it throws disturbs nobody else: it raises ``Fault/Code/listenerThrew``. The rest is as with a
    /// closure that does not throw.
    @discardableResult
    @inlinable
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
    /// It has a mailbox of its own: one call is awaited after the other, in the order in which one poster
    /// posted. The order among several asynchronous listeners is not promised. Cancelling the listener does
    /// not cancel a call that is under way.
    @discardableResult
    @inlinable
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
    /// One call at a time, in the order in which one poster posted, on a concurrent queue too.
    @discardableResult
    @inlinable
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
    /// Where the poster is isolated to the actor, it is called before `post` returns; else when its mailbox
    /// gets to it.
    @discardableResult
    @inlinable
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

    /// Registers an asynchronous listener that belongs to an actor and begins on it.
    ///
    /// One call is awaited after the other; while it is suspended, the actor does other work.
    @discardableResult
    @inlinable
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
    ///   - buffering: How many messages may wait for the listener, and which are dropped when more come.
    ///   - body: Takes the message.
    /// - Returns: The token. When the last reference to it goes, the listener is cancelled.
    /// - Complexity: O(log *p*) in the number of priorities in use.
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
    /// What it throws raises ``Fault/Code/listenerThrew``.
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
    /// One call is awaited after the other, in the order in which one poster posted.
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
    /// One call at a time, in the order in which one poster posted, on a concurrent queue too.
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
