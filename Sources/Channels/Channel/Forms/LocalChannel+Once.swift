// Written by Scripts/generate-forms. Change that, not this.

extension LocalChannel {
    /// Registers, for one message, a listener that belongs to an object.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. It is taken out before it is called, so that a nested
    /// post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message) -> Void
    ) -> LocalListenerToken {
        let call = BareCall(LocalBody2(body))
        return list.registerLocal(owner: owner, call, isBare: true, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to an object, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. It is taken out before it is called, so that a nested
    /// post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner, the message and a ``LocalPostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message, LocalPostInfo) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                body.value(owner, message, LocalPostInfo(frame))
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. It is taken out before it is called, so that a nested
    /// post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject, Context>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message, Context) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let context = Unchecked(context)
        let call = BareCall(call: { message, owner, _ in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                body.value(owner, message, context.value)
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a throwing listener that belongs to an object.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing. It
    /// is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body.value(owner, message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a throwing listener that belongs to an object, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing. It
    /// is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner, the message and a ``LocalPostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message, LocalPostInfo) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body.value(owner, message, LocalPostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a throwing listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing. It
    /// is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: AnyObject, Context>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message, Context) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let context = Unchecked(context)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body.value(owner, message, context.value) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a synchronous listener that belongs to an actor and runs on it.
    ///
    /// The body is isolated to the actor, as is the channel, and has run when `post` returns. What it throws raises a ``Fault`` and stops
    /// nothing. It is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused
    /// are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and the message.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: Actor>(
        actor owner: isolated Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner, Message) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(ThrowingActorBody2(unisolated: ThrowingLocalActorBody2(body)).call)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body.value(owner, message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a synchronous listener that belongs to an actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, as is the channel, and has run when `post` returns. What it throws raises a ``Fault`` and stops
    /// nothing. It is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused
    /// are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner, the message and a ``LocalPostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: Actor>(
        actor owner: isolated Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner, Message, LocalPostInfo) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(ThrowingActorBody3(unisolated: ThrowingLocalActorBody3(body)).call)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body.value(owner, message, LocalPostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a synchronous listener that belongs to an actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, as is the channel, and has run when `post` returns. What it throws raises a ``Fault`` and stops
    /// nothing. It is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused
    /// are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner, the message and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func once<Owner: Actor, Context>(
        actor owner: isolated Owner,
        context: Context,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner, Message, Context) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(ThrowingActorBody3(unisolated: ThrowingLocalActorBody3(body)).call)
        let context = Unchecked(context)
        let call = BareCall(call: { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body.value(owner, message, context.value) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that lives as long as the token returned.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. It is taken out before it is called, so that a nested
    /// post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the message.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func once(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message) -> Void
    ) -> LocalListenerToken {
        let call = BareCall(LocalBody1(body))
        return list.registerLocal(owner: nil, call, isBare: true, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. It is taken out before it is called, so that a nested
    /// post does not call it again. Messages posted while the listener is paused are missed. On a channel of pairs `{ a, b in }` is this form,
    /// and `b` the post; `{ (a: A, b: B) in }` takes the pair apart.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the message and a ``LocalPostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func once(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message, LocalPostInfo) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                body.value(message, LocalPostInfo(frame))
            }
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a throwing listener that lives as long as the token returned.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing. It
    /// is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the message.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func once(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                do { try body.value(message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }

    /// Registers, for one message, a throwing listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing. It
    /// is taken out before it is called, so that a nested post does not call it again. Messages posted while the listener is paused are missed.
    /// On a channel of pairs `{ a, b in }` is this form, and `b` the post; `{ (a: A, b: B) in }` takes the pair apart.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the message and a ``LocalPostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func once(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message, LocalPostInfo) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                do { try body.value(message, LocalPostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line), once: true)
    }
}
