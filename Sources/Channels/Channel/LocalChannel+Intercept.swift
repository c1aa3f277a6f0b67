extension LocalChannel {
    /// Registers a closure that sees every message before any listener does and may replace or stop it.
    ///
    /// One that throws raises a fault, and the message goes on as it was. See
    /// ``Channel/intercept(_:priority:fileID:line:_:)-(_,_,_,_,(Owner,Message)->Interception<Message>)``.
    @inlinable
    @discardableResult
    public func intercept<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message) throws -> Interception<Message>
    ) -> LocalListenerToken {
        intercept(owner, priority: priority, fileID: fileID, line: line) { owner, message, _ in try body(owner, message) }
    }

    /// Registers an interceptor that is also told who posted.
    @inlinable
    @discardableResult
    public func intercept<Owner: AnyObject>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Owner, Message, LocalPostInfo) throws -> Interception<Message>
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        return list.registerLocalInterceptor(owner: owner, priority, PackedSite(fileID, line)) { message, owner, frame in
            lend(owner) { (owner: Owner) in
                do {
                    // The list carries messages of this type only.
                    let current = message.assumingMemoryBound(to: Message.self).pointee
                    PostFrame.apply(try body.value(owner, current, LocalPostInfo(frame)), to: message, in: frame)
                } catch {
                    PostFrame.listenerThrew(error, in: frame)
                }
            }
        }
    }

    /// Registers an interceptor that lives as long as the token returned.
    @inlinable
    public func intercept(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message) throws -> Interception<Message>
    ) -> LocalListenerToken {
        intercept(priority: priority, fileID: fileID, line: line) { message, _ in try body(message) }
    }

    /// Registers an interceptor that lives as long as the token returned and is also told who posted.
    @inlinable
    public func intercept(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping (Message, LocalPostInfo) throws -> Interception<Message>
    ) -> LocalListenerToken {
        let body = Unchecked(body)
        return list.registerLocalInterceptor(owner: nil, priority, PackedSite(fileID, line)) { message, _, frame in
            do {
                // The list carries messages of this type only.
                let current = message.assumingMemoryBound(to: Message.self).pointee
                PostFrame.apply(try body.value(current, LocalPostInfo(frame)), to: message, in: frame)
            } catch {
                PostFrame.listenerThrew(error, in: frame)
            }
        }
    }
}
