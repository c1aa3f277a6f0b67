extension Channel {
    /// Registers a closure that sees every message before any listener does and may replace or stop it.
    ///
    /// Interceptors run on the poster's thread, whatever its isolation, by priority, then in the order of registration; so the closure has no
    /// isolation of its own and cannot read, say, main-actor state. They are not counted in ``listenerCount`` or by `post`. One that
    /// throws raises a fault, and the message goes on as it was.
    ///
    /// - Parameter owner: The object the interceptor belongs to; held weakly.
    @inlinable
    @discardableResult
    public func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message) throws -> Interception<Message>
    ) -> ListenerToken {
        intercept(owner, priority: priority, fileID: fileID, line: line) { owner, message, _ in try body(owner, message) }
    }

    /// Registers an interceptor that is also told who posted. See ``intercept(_:priority:fileID:line:_:)``.
    @inlinable
    @discardableResult
    public func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Message, PostInfo) throws -> Interception<Message>
    ) -> ListenerToken {
        list.registerInterceptor(owner: owner, priority, PackedSite(fileID, line)) { message, owner, frame in
            lend(owner) { (owner: Owner) in
                do {
                    // The list carries messages of this type only.
                    let current = message.assumingMemoryBound(to: Message.self).pointee
                    PostFrame.apply(try body(owner, current, PostInfo(frame)), to: message, in: frame)
                } catch {
                    PostFrame.listenerThrew(error, in: frame)
                }
            }
        }
    }

    /// Registers an interceptor that lives as long as the token returned. See
    /// ``intercept(_:priority:fileID:line:_:)-(_,_,_,_,(Owner,Message)->Interception<Message>)``.
    @inlinable
    public func intercept(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message) throws -> Interception<Message>
    ) -> ListenerToken {
        intercept(priority: priority, fileID: fileID, line: line) { message, _ in try body(message) }
    }

    /// Registers an interceptor that lives as long as the token returned and is also told who posted.
    /// See ``intercept(_:priority:fileID:line:_:)-(_,_,_,_,(Owner,Message)->Interception<Message>)``.
    @inlinable
    public func intercept(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Message, PostInfo) throws -> Interception<Message>
    ) -> ListenerToken {
        list.registerInterceptor(owner: nil, priority, PackedSite(fileID, line)) { message, _, frame in
            do {
                // The list carries messages of this type only.
                let current = message.assumingMemoryBound(to: Message.self).pointee
                PostFrame.apply(try body(current, PostInfo(frame)), to: message, in: frame)
            } catch {
                PostFrame.listenerThrew(error, in: frame)
            }
        }
    }
}
