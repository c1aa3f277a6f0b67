/// A channel for one isolation domain, whose messages, owners and closures are not required to be Sendable.
///
/// It has the synchronous forms of ``Channel``, with the same order, ownership, reentrancy and faults, and
/// takes no lock. It is not Sendable: keep it as a property of a class, an actor or a main-actor object.
///
/// ```swift
/// actor Counter {
///     let clicks = LocalChannel<Click>()
///     var total = 0
///     func start() { clicks.listen(actor: self) { me, click in me.total += click.count } }
/// }
/// ```
///
/// In an actor, name the actor as the owner, as here. A closure written in the actor can also capture `self`,
/// weakly or unowned: `{ [unowned self] _, click in self.total += click.count }`. (Swift 6.3 compiles that
/// capture if the channel is a local constant, but not if it is a stored property.)
///
/// A class on a global actor that keeps a `LocalChannel`, or tokens of one, needs an `isolated deinit`, which
/// may be empty. Without it, properties are released on the thread of the last release, and neither channels
/// nor tokens may be used from two threads.
public final class LocalChannel<Message>: LocalListenable, ListenerContainer {
    @usableFromInline let list: ListenerList

    /// Creates a channel. See ``Channel/init(reentrancy:onFault:diagnostics:)``.
    public init(reentrancy: Reentrancy = .nested(limit: 64), onFault: FaultHandler? = nil) {
        list = ListenerList(
            layout: MessageLayout(Message.self),
            of: Self.self,
            kind: .local,
            reentrancy: reentrancy,
            faults: .with(onFault)
        )
    }

    deinit { list.close() }

    /// Used by ``ListenerContainer``.
    public var _listeners: _ListenerTable { _ListenerTable(list, .messages(Message.self)) }

    /// Used by ``LocalListenable``.
    public func _register(_ listener: consuming _LocalListener<Message>) -> LocalListenerToken {
        LocalListenerToken(list.add(listener.listener.registration))
    }

    /// Delivers a message to every listener registered when the call begins; all have run when it returns.
    ///
    /// For order and reentrancy see ``Channel/post(_:from:echo:fileID:line:isolation:)``.
    ///
    /// - Returns: How many listeners were called.
    /// - Complexity: O(*n*) in the number of listeners. Does not allocate.
    @inlinable @discardableResult
    public func post(_ message: Message, from sender: AnyObject? = nil, echo: Bool = true) -> Int {
        // Keeps the list alive until the post has ended.
        defer { withExtendedLifetime(self) {} }
        return MessageAddress.lending(message) { list.post($0, PostOptions(from: sender, echo: echo)) }
    }
}

extension LocalChannel where Message == Void {
    /// Delivers the empty message.
    @inlinable @discardableResult
    public func post(from sender: AnyObject? = nil, echo: Bool = true) -> Int {
        post((), from: sender, echo: echo)
    }
}
