extension LocalChannel {
    /// Registers a closure that sees every message before any listener does and may replace or stop it.
    ///
    /// One that throws raises a fault, and the message continues unchanged. See
    /// ``Interceptable/intercept(_:priority:fileID:line:_:)``.
    @inlinable @discardableResult
    public func intercept<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, LocalPosted<Message>) throws -> Interception<Message>
    ) -> LocalListenerToken {
        let options = ListenerOptions(priority, fileID, line)
        let body = Unchecked(body)
        let interceptor = Listener<Message>(owner, .interceptor, options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                do {
                    let post = LocalPosted(message: message.load(as: Message.self), sender: frame.sender)
                    frame.apply(try body.value(owner, post), to: message)
                } catch { frame.listenerThrew(error) }
            }
        }
        return register(LocalListener(interceptor))
    }

    /// Registers an interceptor that lives as long as the token returned.
    @inlinable
    public func intercept(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (LocalPosted<Message>) throws -> Interception<Message>
    ) -> LocalListenerToken {
        let options = ListenerOptions(priority, fileID, line)
        let body = Unchecked(body)
        let interceptor = Listener<Message>(nil, .interceptor, options) { message, _, frame in
            do {
                let post = LocalPosted(message: message.load(as: Message.self), sender: frame.sender)
                frame.apply(try body.value(post), to: message)
            } catch { frame.listenerThrew(error) }
        }
        return register(LocalListener(interceptor))
    }
}
