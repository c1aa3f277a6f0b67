extension Channel {
    /// Registers a closure that receives every message before the listeners, and may replace or stop it.
    ///
    /// ```swift
    /// till.sold.intercept(self) { me, post in post.message.total < 0 ? .stop : .continue }
    /// ```
    ///
    /// Interceptors run on the poster's thread, whatever its isolation, in order of priority, then of registration. The
    /// closure is therefore nonisolated and cannot use main-actor state. Interceptors are not included in the result of
    /// `post` or in `listenerCount`. If one throws, a fault is raised and the message stays as it was.
    ///
    /// - Parameters:
    ///   - owner: Held weakly. The interceptor ends with it.
    ///   - priority: Higher ones run first.
    ///   - body: Takes the owner and the post, with the message as earlier interceptors passed it on.
    /// - Returns: The token. It may be ignored, because the interceptor lives as long as its owner.
    @inlinable @discardableResult
    public func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken {
        intercept(owner, ListenerOptions(priority, fileID, line)) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                do {
                    let post = Posted(message.load(as: Message.self), frame.envelope)
                    frame.apply(try body(owner, post), to: message)
                } catch { frame.report(error) }
            }
        }
    }

    /// Registers an interceptor that lives as long as the token returned.
    ///
    /// It receives every message before the listeners, on the poster's thread, and may replace or stop it. If it
    /// throws, a fault is raised and the message stays as it was.
    @inlinable
    public func intercept(
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken {
        intercept(nil, ListenerOptions(priority, fileID, line)) { message, _, frame in
            do {
                frame.apply(try body(Posted(message.load(as: Message.self), frame.envelope)), to: message)
            } catch { frame.report(error) }
        }
    }

    @inlinable
    func intercept(_ owner: AnyObject?, _ options: ListenerOptions, _ call: @escaping ListenerCall) -> ListenerToken {
        list.register(Registration(owner, .interceptor, options, BareCall(call: call)))
    }
}
