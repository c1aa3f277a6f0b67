/// A channel for one isolation domain, whose messages, owners and closures need not be Sendable.
///
/// It has the synchronous forms of `listen`, and the order, ownership, reentrancy and faults of ``Channel``. It takes
/// no lock. It is not Sendable: keep it as a property of a class, an actor or a main-actor object.
///
/// ```swift
/// actor Counter {
///     let clicks = LocalChannel<Click>()
///     var total = 0
///     func start() { clicks.listen(actor: self) { me, click in me.total += click.count } }
/// }
/// ```
///
/// In an actor, pass the actor as `actor:`. The closure is then isolated to it.
///
/// A class on a global actor that keeps a `LocalChannel`, or tokens of one, needs an `isolated deinit`, which
/// may be empty. Without it, properties are released on whichever thread drops the last reference, and
/// neither channels nor tokens may be used from two threads.
public final class LocalChannel<Message>: LocalListenable, ListenerContainer {
    @usableFromInline let list: ListenerList

    /// Creates a channel.
    /// - Parameter reentrancy: What happens to posts that the channel's listeners make while they are being called.
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

    /// An implementation detail of ``ListenerContainer``.
    public var _listeners: _ListenerTable { _ListenerTable(list, .messages(Message.self)) }

    /// An implementation detail of ``LocalListenable``.
    public func _register(_ listener: consuming _LocalListener<Message>) -> LocalListenerToken {
        LocalListenerToken(list.add(listener.listener.registration))
    }

    /// Delivers a message to every listener registered when the call begins; all have run when it returns.
    ///
    /// Listeners run in order of priority, then of registration. A post inside a listener follows the
    /// channel's ``Reentrancy``.
    ///
    /// - Returns: How many listeners were called.
    /// - Complexity: O(*n*) in the number of listeners. Does not allocate, except for an envelope if a sender is passed
    ///   to listeners of ``posts``.
    @inlinable @discardableResult
    public func post(_ message: Message, from sender: AnyObject? = nil, echo: Bool = true) -> Int {
        // Keeps the list alive until the post has ended.
        defer { withExtendedLifetime(self) {} }
        return MessageAddress.lending(message) { list.post($0, PostOptions(from: sender, echo: echo)) }
    }
}

extension LocalChannel where Message == Void {
    /// Delivers the empty message to every listener.
    @inlinable @discardableResult
    public func post(from sender: AnyObject? = nil, echo: Bool = true) -> Int {
        post((), from: sender, echo: echo)
    }
}
