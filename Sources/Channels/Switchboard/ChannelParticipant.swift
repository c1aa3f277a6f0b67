/// An object that posts and receives dictionaries on named channels, without keeping tokens or channels.
///
/// ```swift
/// final class Basket: ChannelParticipant, Sendable {}
/// let basket = Basket()
/// basket.listen(on: "shop.checkout") { me, post in print(post.message["total"] as Any, post.sender === me) }
/// basket.post(["total": 3], to: "shop.checkout")
/// basket.leave("shop.checkout")
/// ```
///
/// It is the sender of its posts and the owner of its listeners. It must be Sendable: actors and classes on a
/// global actor are; other classes must declare it. For a priority, a buffer or a queue, use the channel:
/// `switchboard["shop.checkout" as ChannelName<[String: any Sendable]>].listen(self, on: queue) { … }`. In
/// new code, prefer a typed ``ChannelName``.
public protocol ChannelParticipant: AnyObject {
    /// The switchboard of its channels; ``Switchboard/shared`` by default. It is read from any thread: a
    /// class on the main actor declares its own as `nonisolated let switchboard: Switchboard`.
    var switchboard: Switchboard { get }
}

extension ChannelParticipant {
    /// The switchboard of the process.
    public var switchboard: Switchboard { .shared }
}

extension ChannelParticipant where Self: Sendable {
    /// Listens on a channel, in the closure's isolation, until this object is deallocated or leaves.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext
        _ body: @escaping @isolated(any) @Sendable (Self, Posted<[String: any Sendable]>) throws -> Void
    ) -> ListenerToken {
        switchboard[name].posts.listen(self, fileID: fileID, line: line, isolation: isolation, body)
    }

    /// Listens on a channel asynchronously, one call at a time, until this object is deallocated or leaves.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        @_inheritActorContext
        _ body: @escaping @isolated(any) @Sendable (Self, Posted<[String: any Sendable]>) async throws -> Void
    ) -> ListenerToken {
        switchboard[name].posts.listen(self, fileID: fileID, line: line, isolation: isolation, body)
    }

    /// Posts a message to a channel, with this object as sender.
    /// - Returns: How many listeners were called or had the message enqueued.
    @discardableResult
    public func post(
        _ message: [String: any Sendable],
        to name: ChannelName<[String: any Sendable]>,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        switchboard[name].post(message, from: self, echo: echo, fileID: fileID, line: line, isolation: isolation)
    }

    /// Posts a message to a channel, with this object as sender, and suspends until every listener that it
    /// reaches has finished, or the time is up.
    /// - Parameter timeout: How long to wait; nil for no limit.
    /// - Returns: The outcome of the message.
    @discardableResult
    public func postAndWait(
        _ message: [String: any Sendable],
        to name: ChannelName<[String: any Sendable]>,
        echo: Bool = true,
        timeout: Duration? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        await switchboard[name].postAndWait(
            message,
            from: self,
            echo: echo,
            timeout: timeout,
            fileID: fileID,
            line: line,
            isolation: isolation
        )
    }

    /// Ends the listeners that this object has on a channel.
    /// - Complexity: O(*n*) in the number of listeners of the name.
    public func leave(_ name: ChannelName<[String: any Sendable]>) {
        switchboard[name].removeListeners(of: self)
    }
}

extension ChannelParticipant where Self: Actor {
    /// Listens on a channel, on this actor, until it is deallocated or leaves. For an async closure, use the
    /// channel: `switchboard[name].posts.listen(self) { me, post in … }`.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (isolated Self, Posted<[String: any Sendable]>) throws -> Void
    ) -> ListenerToken {
        switchboard[name].posts.listen(self, fileID: fileID, line: line, isolation: isolation, body)
    }
}
