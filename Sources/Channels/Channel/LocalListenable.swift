/// A source of messages inside one isolation domain: a ``LocalChannel`` or its posts.
public protocol LocalListenable<Message> {
    /// The type of the messages.
    associatedtype Message

    // Underscored because only the forms of `listen` can call it.
    func _register(_ listener: consuming _LocalListener<Message>) -> LocalListenerToken
}

/// The forms of `listen`, all of them synchronous: listeners are called on the poster's thread, before `post` returns.
extension LocalListenable {
    /// Registers a listener that belongs to an object.
    ///
    /// It is called before `post` returns. An error raises ``Fault/Code/listenerThrew``.
    ///
    /// - Parameters:
    ///   - owner: Held weakly, but strongly during each call. The listener ends with it.
    ///   - priority: Listeners with higher priority are called first; those with equal priority, in the order of
    ///     registration.
    ///   - once: Whether the listener receives only one message. It is removed before it is called.
    /// - Returns: The token. It may be ignored, because the listener lives as long as its owner.
    @discardableResult @inlinable
    public func listen<Owner: AnyObject>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message) throws -> Void
    ) -> LocalListenerToken {
        let options = ListenerOptions(priority, once: once, fileID, line)
        let call = BareCall(LocalBody2(body))
        return _register(_LocalListener(Listener(owner, .isolated(nil), options, isBare: true, call)))
    }

    /// Registers a listener owned by the actor that holds the channel.
    ///
    /// It is called before `post` returns. An error raises ``Fault/Code/listenerThrew``.
    @discardableResult @inlinable
    public func listen<Owner: Actor>(
        actor owner: isolated Owner,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (isolated Owner, Message) throws -> Void
    ) -> LocalListenerToken {
        let options = ListenerOptions(priority, once: once, fileID, line)
        let call = BareCall(Body2(unisolated: ActorBody2(body)))
        return _register(_LocalListener(Listener(owner, .isolated(nil), options, isBare: true, call)))
    }

    /// Registers a listener that lives as long as the token returned.
    @inlinable
    public func listen(
        priority: ListenerPriority = .normal,
        once: Bool = false,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message) -> Void
    ) -> LocalListenerToken {
        let options = ListenerOptions(priority, once: once, fileID, line)
        let call = BareCall(LocalBody1(body))
        return _register(_LocalListener(Listener(nil, .isolated(nil), options, isBare: true, call)))
    }

    /// Registers a throwing listener that lives as long as the token returned.
    ///
    /// An error raises ``Fault/Code/listenerThrew``.
    @inlinable
    public func listen(
        priority: ListenerPriority = .normal,
        once: Bool = false,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message) throws -> Void
    ) -> LocalListenerToken {
        let options = ListenerOptions(priority, once: once, fileID, line)
        let body = Unchecked(body)
        let listener = Listener<Message>(nil, .isolated(nil), options) { message, _, frame in
            message.lend(as: Message.self) { message in
                do { try body.value(message) } catch { frame.report(error) }
            }
        }
        return _register(_LocalListener(listener))
    }
}
