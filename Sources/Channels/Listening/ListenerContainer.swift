/// A channel of any kind, named or not: for messages, local messages, a state, a protocol or requests.
///
/// Here, "listener" includes observers and responders. Their owner is the object given to `listen`,
/// `intercept` or `respond`, or the observer itself.
public protocol ListenerContainer {
    // Underscored because only the members below can use it.
    var _listeners: _ListenerTable { get }

    /// Ends every listener and interceptor for good: queued messages are delivered, sequences end, later
    /// posts return 0, and listeners registered later are inactive.
    ///
    /// Posts still deferred by ``Reentrancy/queued`` are discarded. A state can still be set and read. On a
    /// switchboard, the name, or the protocol, becomes available again.
    func finish()
}

extension ListenerContainer {
    /// The name on the switchboard, or the protocol's name. Nil if there is none.
    public var name: String? { _listeners.name }

    /// Ends every listener and interceptor for good: queued messages are delivered, sequences end, later
    /// posts return 0, and listeners registered later are inactive. Posts deferred by ``Reentrancy/queued``
    /// are discarded.
    public func finish() { _listeners.list?.close() }

    /// The number of listeners, including sequences, bridges, listeners to patterns and paused listeners, but not
    /// interceptors.
    /// - Complexity: O(*n*): listeners whose owner was deallocated are removed first.
    public var listenerCount: Int { _listeners.list?.pruneAndCount() ?? 0 }

    /// Whether there are no listeners.
    public var isEmpty: Bool { listenerCount == 0 }

    /// Returns whether an object owns a listener or an interceptor.
    /// - Complexity: O(*n*) in the number of listeners.
    public func hasListeners(of owner: AnyObject) -> Bool { _listeners.list?.hasListeners(of: owner) ?? false }

    /// Ends every listener and interceptor of an owner. One that is registered during the call may remain.
    ///
    /// A `once` listener whose message is already queued still receives it, unless its token is cancelled. A request
    /// that is already being answered is still answered.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListeners(of owner: AnyObject) { _listeners.list?.removeListeners(of: owner) }

    /// Ends every listener and interceptor, except listeners to patterns, and discards their queued messages.
    ///
    /// A `once` listener ends when its message is queued, so it still receives that message.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeAllListeners() { _listeners.list?.removeAllListeners() }
}

extension ListenerContainer where Self: Sendable {
    /// Ends every listener and interceptor of an owner, and suspends until none of them is running.
    ///
    /// Queued messages are discarded. This method does not wait for a listener that has already ended, for example
    /// because it is `once`: use its token.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListenersAndWait(of owner: AnyObject) async {
        await _listeners.list?.removeListenersAndWait(of: owner)
    }

    /// Ends every listener and interceptor of an owner after their queued messages have been delivered, and suspends
    /// until none of them is running: ``ListenerToken/drain()`` for each.
    ///
    /// Messages posted from now on do not reach them. For an owner that keeps no tokens, such as an actor that
    /// registers its listeners in its `init`. To end a program, drain its parts in the direction of their messages:
    /// what a part posts while it is drained reaches the next one.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func drainListeners(of owner: AnyObject) async {
        await _listeners.list?.drainListeners(of: owner)
    }
}

/// Backs the members of ``ListenerContainer``. Public because it appears in a requirement.
public struct _ListenerTable {
    /// The list; nil if there is no channel of the name.
    package let list: ListenerList?
    /// What the listeners receive.
    let content: ChannelContent
    /// The name, even if there is no channel of the name.
    let name: String?

    /// The types of what the listeners receive, as descriptions and snapshots show them.
    package var messageType: String { content.types }

    init(_ list: ListenerList, _ content: ChannelContent) {
        self.init(list, content, name: list.name)
    }

    init(_ list: ListenerList?, _ content: ChannelContent, name: String?) {
        self.list = list
        self.content = content
        self.name = name
    }
}
