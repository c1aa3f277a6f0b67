// Written by Scripts/generate-forms. Change that, not this.

extension LocalChannel {
    /// Registers, for one message, a listener that belongs to an object.
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

    /// Registers, for one message, a listener that belongs to an object, which is also told who posted.
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

    /// Registers, for one message, a listener that belongs to an object, which is handed a context of its own.
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

    /// Registers, for one message, a listener that may throw that belongs to an object.
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

    /// Registers, for one message, a listener that may throw that belongs to an object, which is also told who posted.
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

    /// Registers, for one message, a listener that may throw that belongs to an object, which is handed a context of its own.
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

    /// Registers, for one message, a listener that may throw that belongs to an actor, on that actor.
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

    /// Registers, for one message, a listener that may throw that belongs to an actor, on that actor, which is also told who posted.
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

    /// Registers, for one message, a listener that may throw that belongs to an actor, on that actor, which is handed a context of its own.
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

    /// Registers, for one message, a listener that belongs to the token returned.
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

    /// Registers, for one message, a listener that belongs to the token returned, which is also told who posted.
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

    /// Registers, for one message, a listener that may throw that belongs to the token returned.
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

    /// Registers, for one message, a listener that may throw that belongs to the token returned, which is also told who posted.
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
