/// A source whose messages can be replaced or stopped before any listener hears them: ``Channel`` and
/// ``NamedChannel``.
public protocol Interceptable<Message>: Listenable {}

extension Interceptable {
    /// Registers a closure that sees every message before any listener does and may replace or stop it.
    ///
    /// ```swift
    /// till.sold.intercept(self) { me, post in post.message.total < 0 ? .stop : .continue }
    /// ```
    ///
    /// Interceptors run on the poster's thread, whatever its isolation, by priority, then in the order of
    /// registration; so the closure has no isolation and cannot, for example, read main-actor state. They are
    /// not counted as listeners, nor by `post`. One that throws raises a fault, and the message continues
    /// unchanged.
    ///
    /// - Parameters:
    ///   - owner: The object the interceptor belongs to; held weakly.
    ///   - priority: Interceptors of a higher priority run first.
    ///   - body: Takes the owner and the post, whose message is that of the interceptors before it.
    /// - Returns: The token; it may be ignored, because the owner keeps the interceptor.
    @inlinable @discardableResult
    public func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken {
        let options = ListenerOptions(priority, fileID, line)
        let interceptor = Listener<Message>(owner, .interceptor, options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                do {
                    let post = Posted(message.load(as: Message.self), PostContext(frame))
                    frame.apply(try body(owner, post), to: message)
                } catch { frame.listenerThrew(error) }
            }
        }
        return register(interceptor, isolation: nil)
    }

    /// Registers an interceptor that lives as long as the token returned.
    ///
    /// See ``intercept(_:priority:fileID:line:_:)`` for when it runs.
    @inlinable
    public func intercept(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken {
        let options = ListenerOptions(priority, fileID, line)
        let interceptor = Listener<Message>(nil, .interceptor, options) { message, _, frame in
            do {
                let post = Posted(message.load(as: Message.self), PostContext(frame))
                frame.apply(try body(post), to: message)
            } catch { frame.listenerThrew(error) }
        }
        return register(interceptor, isolation: nil)
    }
}
