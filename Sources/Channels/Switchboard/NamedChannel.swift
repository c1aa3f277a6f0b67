/// A channel that a switchboard looks up by name or by type of message.
///
/// ```swift
/// board[.checkout].listen(self) { me, checkout in me.show(checkout) }
/// board[.checkout].post(Checkout(total: 12), from: self, echo: false)
/// board[Checkout.self].post(Checkout(total: 12))  // one channel for each type of message
/// ```
///
/// This is a lightweight value that looks up the channel at each use. It keeps the switchboard alive, but not the
/// channel.
@frozen
public struct NamedChannel<Message: Sendable>: Listenable, ListenerContainer {
    @usableFromInline let switchboard: Switchboard
    @usableFromInline let key: NameKey

    @inlinable
    init(_ switchboard: Switchboard, _ key: NameKey) {
        self.switchboard = switchboard
        self.key = key
    }

    /// The channel itself, created if needed. Keep it if you post often.
    /// - Precondition: The name is not in use for another kind or type.
    /// - Complexity: O(1).
    public var channel: Channel<Message> { switchboard.channel(key, reentrancy: nil) }

    /// Registers a listener on the channel, which is created if needed and kept while it has listeners.
    /// - Precondition: The name is not in use for another kind or type.
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        let channel = channel
        // The registration keeps the channel alive from here on.
        defer { withExtendedLifetime(channel) {} }
        return channel.register(listener, isolation: isolation)
    }

    /// Registers a closure that receives every message before the listeners, and may replace or stop it.
    ///
    /// The channel is created if needed, and kept while it has interceptors. See
    /// ``Channel/intercept(_:priority:fileID:line:_:)``.
    @discardableResult
    public func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken {
        let channel = channel
        defer { withExtendedLifetime(channel) {} }
        return channel.intercept(owner, priority: priority, fileID: fileID, line: line, body)
    }

    /// Registers an interceptor that lives as long as the token returned.
    ///
    /// The channel is created if needed, and kept while it has interceptors. See
    /// ``Channel/intercept(priority:fileID:line:_:)``.
    public func intercept(
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken {
        let channel = channel
        defer { withExtendedLifetime(channel) {} }
        return channel.intercept(priority: priority, fileID: fileID, line: line, body)
    }

    /// An implementation detail of ``ListenerContainer``.
    public var _listeners: _ListenerTable {
        _ListenerTable(switchboard.list(key), .messages(Message.self), name: key.name)
    }

    /// Finishes the channel, if there is one: queued messages are delivered, listeners and sequences end, and posts
    /// deferred by ``Reentrancy/queued`` are discarded. A listener registered later gets a new channel.
    public func finish() {
        guard let list = switchboard.list(key), list.kind == .messages else { return }
        list.close()
    }
}

extension NamedChannel {
    /// Delivers a message to every listener of the name and of patterns that match it.
    ///
    /// Listeners run in order of priority, then of registration. Those that are nonisolated, or have the
    /// caller's isolation, run before this method returns; ``Channel`` says when not.
    ///
    /// - Returns: How many listeners were called or had the message enqueued. If there are none, nothing is stored.
    /// - Precondition: The name is not in use for another kind or type.
    /// - Complexity: O(*n*) in the number of listeners. For a name without listeners, and for the first post to a name
    ///   that only patterns match, also O(*n*) in the number of patterns.
    @inlinable @discardableResult
    public func post(
        _ message: Message,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        // Done by the switchboard, so that a caller who makes this value only to post need not retain its parts.
        let post = PostOptions(from: sender, echo: echo, isolation: isolation, at: PackedSite(fileID, line))
        return switchboard.post(message, post, to: key)
    }

    /// Delivers a message, and suspends until every listener that it reaches has finished with it, including async
    /// ones.
    ///
    /// Inside a listener, this method does not wait for that listener.
    ///
    /// - Parameter timeout: How long to wait; nil for no limit. When the time is up, delivery continues, and the report
    ///   counts the listeners that have not finished.
    @discardableResult
    public func postAndWait(
        _ message: Message,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        timeout: Duration? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        guard let channel: Channel<Message> = switchboard.channelToPost(key) else { return DeliveryReport() }
        let site = PackedSite(fileID, line)
        return await channel.postAndWait(
            message,
            from: sender,
            origin: .local,
            echo: echo,
            timeout: timeout,
            at: site,
            isolation: isolation
        )
    }
}

extension Switchboard {
    @inlinable
    func post<Message: Sendable>(_ message: Message, _ post: PostOptions, to key: NameKey) -> Int {
        let reached = MessageAddress.lending(message) { self.post($0, post, to: key, ofMessages: Message.self) }
        return reached ?? postToChannel(of: key, message, post)
    }

    /// Posts to a name without a channel, because patterns may match it.
    @usableFromInline
    func postToChannel<Message: Sendable>(of key: NameKey, _ message: Message, _ post: PostOptions) -> Int {
        guard let channel: Channel<Message> = channelToPost(key) else { return 0 }
        defer { withExtendedLifetime(channel) {} }
        return MessageAddress.lending(message) { channel.list.post($0, post) }
    }

    /// Returns the channel to post on; nil if there is no listener. It must not be passed to anyone else.
    fileprivate func channelToPost<Message: Sendable>(_ key: NameKey) -> Channel<Message>? {
        Self.unwrap { try channelToPost(key, of: Message.self) }
    }

    /// Returns the channel to post on for a name given at run time; nil if there is no listener.
    /// - Throws: ``ChannelError/Code/typeMismatch``, if the name is in use for another kind or type.
    func channelToPost<Message: Sendable>(_ key: NameKey, of type: Message.Type) throws -> Channel<Message>? {
        if let found = try find(key, toPost: type) {
            // A channel found under a type of message is a channel of that type.
            return known(found, as: Channel<Message>.self)
        }
        guard hasPattern(key, toPost: type) else { return nil }
        return try makeChannel(key: key, reentrancy: nil, isKept: true)
    }

    private func find(_ key: NameKey, toPost type: any Any.Type) throws -> AnyObject? {
        let found = registry.withShard(of: key) { $0.channelEvenIfKept(key, ofMessages: ObjectIdentifier(type)) }
        return try found ?? registry.channel(key, kind: .messages(type))
    }

    /// Whether a pattern matches the name. If none does, counts the post as unreceived.
    private func hasPattern(_ key: NameKey, toPost type: any Any.Type) -> Bool {
        if patterns.match(key.name) { return true }
        instrument?.noteUnreceived(key.name ?? "\(type)", type)
        return false
    }
}

extension NamedChannel where Message == Void {
    /// Delivers the empty message.
    @inlinable @discardableResult
    public func post(
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        post((), from: sender, echo: echo, fileID: fileID, line: line, isolation: isolation)
    }

    /// Delivers the empty message, and suspends until every listener that it reaches has finished with it.
    @discardableResult
    public func postAndWait(
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        timeout: Duration? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        await postAndWait(
            (),
            from: sender,
            echo: echo,
            timeout: timeout,
            fileID: fileID,
            line: line,
            isolation: isolation
        )
    }
}

extension Switchboard {
    /// The channel of a name, looked up when it is used.
    @inlinable
    public subscript<Message: Sendable>(_ name: ChannelName<Message>) -> NamedChannel<Message> {
        NamedChannel(self, name.key)
    }

    /// The channel of a type of message, which has no name. Types are told apart by identity, not by name.
    @inlinable
    public subscript<Message: Sendable>(_ type: Message.Type) -> NamedChannel<Message> {
        NamedChannel(self, NameKey(of: type))
    }
}
