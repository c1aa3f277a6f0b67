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
        _ owner: isolated Owner,
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
}
