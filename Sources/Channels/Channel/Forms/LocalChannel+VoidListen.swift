// Written by Scripts/generate-forms. Change that, not this.

extension LocalChannel where Message == Void {
    /// Registers a listener that belongs to an object.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. Messages posted while the listener is paused are
    /// missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, owner, _ in
            lend(owner) { (owner: Owner) in
                body.value(owner)
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a listener that belongs to an object, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. Messages posted while the listener is paused are
    /// missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and a ``LocalPostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, LocalPostInfo) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                body.value(owner, LocalPostInfo(frame))
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. Messages posted while the listener is paused are
    /// missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject, Context>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Context) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let context = Unchecked(context)
        let call = BareCall(call: { _, owner, _ in
            lend(owner) { (owner: Owner) in
                body.value(owner, context.value)
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that belongs to an object.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body.value(owner) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that belongs to an object, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and a ``LocalPostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, LocalPostInfo) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body.value(owner, LocalPostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that belongs to an object, and is handed a context of its own.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, and during each call strongly. The listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: AnyObject, Context>(
        _ owner: Owner,
        context: Context,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Context) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let context = Unchecked(context)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body.value(owner, context.value) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a synchronous listener that belongs to an actor and runs on it.
    ///
    /// The body is isolated to the actor, as is the channel, and has run when `post` returns. What it throws raises a ``Fault`` and stops
    /// nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor>(
        actor owner: isolated Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(ThrowingActorBody1(unisolated: ThrowingLocalActorBody1(body)).call)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body.value(owner) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a synchronous listener that belongs to an actor and runs on it, and is told who posted.
    ///
    /// The body is isolated to the actor, as is the channel, and has run when `post` returns. What it throws raises a ``Fault`` and stops
    /// nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and a ``LocalPostInfo``.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func listen<Owner: Actor>(
        actor owner: isolated Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner, LocalPostInfo) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(ThrowingActorBody2(unisolated: ThrowingLocalActorBody2(body)).call)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body.value(owner, LocalPostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a synchronous listener that belongs to an actor and runs on it, and is handed a context of its own.
    ///
    /// The body is isolated to the actor, as is the channel, and has run when `post` returns. What it throws raises a ``Fault`` and stops
    /// nothing. Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - owner: The actor. Held weakly, and during each call strongly; the listener goes with it.
    ///   - context: Handed to the body with each message. Kept as long as the listener.
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes the owner and the context.
    /// - Returns: The token; it may be ignored, because the owner keeps the listener.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @discardableResult
    @inlinable
    public func listen<Owner: Actor, Context>(
        actor owner: isolated Owner,
        context: Context,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner, Context) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(ThrowingActorBody2(unisolated: ThrowingLocalActorBody2(body)).call)
        let context = Unchecked(context)
        let call = BareCall(call: { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body.value(owner, context.value) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        })
        return list.registerLocal(owner: owner, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a listener that lives as long as the token returned.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. Messages posted while the listener is paused are
    /// missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes nothing.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping () -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, _, _ in
            body.value()
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. Messages posted while the listener is paused are
    /// missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes a ``LocalPostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @_disfavoredOverload
    @inlinable
    public func listen(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (LocalPostInfo) -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, _, frame in
            body.value(LocalPostInfo(frame))
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that lives as long as the token returned.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes nothing.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @inlinable
    public func listen(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping () throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, _, frame in
            do { try body.value() } catch { PostFrame.listenerThrew(error, in: frame) }
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line))
    }

    /// Registers a throwing listener that lives as long as the token returned, and is told who posted.
    ///
    /// The body stays in the channel's isolation domain, and has run when `post` returns. What it throws raises a ``Fault`` and stops nothing.
    /// Messages posted while the listener is paused are missed.
    ///
    /// - Parameters:
    ///   - priority: Listeners of a higher priority are reached first; those of one priority in the order of registration.
    ///   - body: Takes a ``LocalPostInfo``.
    /// - Returns: The token; keep it, because the listener ends with it.
    /// - Complexity: O(log *p*) in the number of priorities in use.
    @_disfavoredOverload
    @inlinable
    public func listen(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (LocalPostInfo) throws -> Void
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        let call = BareCall(call: { _, _, frame in
            do { try body.value(LocalPostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
        })
        return list.registerLocal(owner: nil, call, isBare: false, priority, PackedSite(fileID, line))
    }
}
