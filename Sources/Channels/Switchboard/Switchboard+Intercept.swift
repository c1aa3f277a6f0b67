extension Switchboard {
    /// Registers an interceptor on a name. See
    /// ``Channel/intercept(_:priority:fileID:line:_:)-(_,_,_,_,(Owner,Message)->Interception<Message>)``.
    @discardableResult
    public func intercept<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message) throws -> Interception<Message>
    ) -> ListenerToken {
        channel(name).intercept(owner, priority: priority, fileID: fileID, line: line, body)
    }

    /// Registers an interceptor on a name that is also told who posted.
    @discardableResult
    public func intercept<Message: Sendable, Owner: AnyObject & Sendable>(
        _ owner: Owner,
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, PostInfo) throws -> Interception<Message>
    ) -> ListenerToken {
        channel(name).intercept(owner, priority: priority, fileID: fileID, line: line, body)
    }

    /// Registers an interceptor on a name that lives as long as the token returned.
    public func intercept<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message) throws -> Interception<Message>
    ) -> ListenerToken {
        channel(name).intercept(priority: priority, fileID: fileID, line: line, body)
    }

    /// Registers an interceptor on a name that lives as long as the token returned and is also told who posted.
    public func intercept<Message: Sendable>(
        to name: ChannelName<Message>,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message, PostInfo) throws -> Interception<Message>
    ) -> ListenerToken {
        channel(name).intercept(priority: priority, fileID: fileID, line: line, body)
    }
}
