/// A channel, named or not, whose messages can be replaced or stopped before listeners receive them.
public protocol Interceptable<Message>: Listenable {}

extension Interceptable {
    /// Registers a closure that receives every message before the listeners, and may replace or stop it.
    ///
    /// ```swift
    /// till.sold.intercept(self) { me, post in post.message.total < 0 ? .stop : .continue }
    /// ```
    ///
    /// Interceptors run on the poster's thread, whatever its isolation, by priority, then in the order of
    /// registration. So the closure has no isolation, and cannot read main-actor state. `post` and
    /// `listenerCount` do not count them. If one throws, a fault is raised and the message is unchanged.
    ///
    /// - Parameters:
    ///   - owner: Held weakly. The interceptor ends with it.
    ///   - priority: Higher ones run first.
    ///   - body: Takes the owner and the post, with the message as left by earlier interceptors.
    /// - Returns: The token. It may be ignored, because the owner keeps the interceptor.
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
                } catch { frame.report(error) }
            }
        }
        return register(interceptor, isolation: nil)
    }

    /// Registers an interceptor that lives as long as the token returned.
    ///
    /// It receives every message before the listeners, on the poster's thread, and may replace or stop it. If
    /// it throws, a fault is raised and the message is unchanged.
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
            } catch { frame.report(error) }
        }
        return register(interceptor, isolation: nil)
    }
}
