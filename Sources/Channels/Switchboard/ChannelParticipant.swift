/// An object that talks over named channels with dictionaries, as in an older code base, without keeping track of anything.
///
/// ```swift
/// final class Basket: ChannelParticipant, Sendable {}
/// basket.listen(on: "shop.checkout") { me, message in … }
/// basket.post(["total": 3], to: "shop.checkout")
/// basket.leave("shop.checkout")
/// ```
///
/// It is the sender of what it posts, and the owner of its listeners. New code is better served by a ``ChannelName`` of a type of its own.
public protocol ChannelParticipant: AnyObject, Sendable {
    /// Where its channels are. ``Switchboard/shared`` where nothing else is said.
    var switchboard: Switchboard { get }
}

extension ChannelParticipant {
    /// The switchboard of the process.
    public var switchboard: Switchboard { .shared }

    /// Listens on a channel for as long as this object lives. See ``Channel``.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Self, [String: any Sendable]) -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Listens on a channel for as long as this object lives, and is also told who posted.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Self, [String: any Sendable], PostInfo) -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Listens on a channel, asynchronously, for as long as this object lives.
    @discardableResult
    public func listen(
        on name: ChannelName<[String: any Sendable]>,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Self, [String: any Sendable]) async throws -> Void
    ) -> ListenerToken {
        switchboard.listen(self, to: name, priority: priority, buffering: buffering, fileID: fileID, line: line, body)
    }

    /// Posts to a channel, with this object as the sender.
    ///
    /// - Returns: How many listeners were called or enqueued.
    @discardableResult
    public func post(
        _ message: [String: any Sendable],
        to name: ChannelName<[String: any Sendable]>,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        switchboard.post(message, to: name, from: self, echo: echo, isolation: isolation)
    }

    /// Ends this object's listeners on a channel.
    public func leave(_ name: ChannelName<[String: any Sendable]>) {
        switchboard.removeListeners(of: self, from: name)
    }
}
