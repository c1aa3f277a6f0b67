// Written by Scripts/generate-forms. Change that, not this.

extension LocalChannel where Message == Void {
    /// Registers a listener that belongs to an object.
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

    /// Registers a listener that may throw that belongs to an object.
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

    /// Registers a listener that may throw that belongs to an actor, on that actor.
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

    /// Registers a listener that belongs to the token returned.
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

    /// Registers a listener that may throw that belongs to the token returned.
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
