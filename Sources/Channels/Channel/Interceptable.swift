/// A channel, named or not, whose messages can be replaced or stopped before listeners receive them.
///
/// Only channels conform. A source of your own can forward listeners, adapted to other messages, but an
/// interceptor changes the message itself, so it belongs to the channel.
public protocol Interceptable<Message>: Listenable {
    // Underscored: the forms of `intercept` call it, nobody else can.
    func _intercept(_ interceptor: consuming _Interceptor<Message>) -> ListenerToken
}

extension Interceptable {
    /// Stops the program: only channels can be intercepted.
    @available(*, deprecated, message: "only channels can be intercepted; write 'intercept' on the channel")
    public func _intercept(_ interceptor: consuming _Interceptor<Message>) -> ListenerToken {
        fatalError("\(Self.self) cannot be intercepted: write 'intercept' on the channel to which it listens")
    }
}

/// An interceptor built by one of the `intercept` methods. It is not a ``Listener``, because it changes the
/// message, so it cannot be adapted to another type.
@frozen
public struct _Interceptor<Message: Sendable> {
    @usableFromInline let registration: Registration

    @inlinable
    init(_ owner: AnyObject?, _ options: ListenerOptions, call: @escaping ListenerCall) {
        registration = Registration(owner, .interceptor, options, BareCall(call: call))
    }
}

extension Interceptable {
    /// Registers a closure that receives every message before the listeners, and may replace or stop it.
    ///
    /// ```swift
    /// till.sold.intercept(self) { me, post in post.message.total < 0 ? .stop : .continue }
    /// ```
    ///
    /// Interceptors run on the poster's thread, whatever its isolation, in order of priority, then of
    /// registration. The closure is therefore nonisolated and cannot use main-actor state. `post` and
    /// `listenerCount` do not count them. If one throws, a fault is raised and the message is unchanged.
    ///
    /// - Parameters:
    ///   - owner: Held weakly. The interceptor ends with it.
    ///   - priority: Higher ones run first.
    ///   - body: Takes the owner and the post, with the message as earlier interceptors passed it on.
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
        let interceptor = _Interceptor<Message>(owner, options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                do {
                    let post = Posted(message.load(as: Message.self), frame.envelope)
                    frame.apply(try body(owner, post), to: message)
                } catch { frame.report(error) }
            }
        }
        return _intercept(interceptor)
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
        let interceptor = _Interceptor<Message>(nil, options) { message, _, frame in
            do {
                frame.apply(try body(Posted(message.load(as: Message.self), frame.envelope)), to: message)
            } catch { frame.report(error) }
        }
        return _intercept(interceptor)
    }
}
