extension Switchboard {
    /// Delivers a message to every listener of a name, and to those of patterns that match it.
    ///
    /// See ``Channel/post(_:from:echo:isolation:)`` for the order and for who runs before this method returns.
    ///
    /// - Returns: How many listeners were called or enqueued; 0 where nobody listens, in which case nothing is kept.
    /// - Complexity: O(1) for the lookup, O(*n*) in the number of listeners; where the name has no channel, O(*p*) in the number of patterns.
    @inlinable
    @discardableResult
    public func post<Message: Sendable>(
        _ message: Message,
        to name: ChannelName<Message>,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        deliver(message, to: name, from: sender, echo: echo, isolation: isolation)
    }

    /// Delivers a dictionary. The same as the generic form; with it, a literal such as `["total": 3]` has the type of the name.
    @inlinable
    @discardableResult
    public func post(
        _ message: [String: any Sendable],
        to name: ChannelName<[String: any Sendable]>,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        deliver(message, to: name, from: sender, echo: echo, isolation: isolation)
    }

    /// Delivers a message that says only that it was posted.
    @inlinable
    @discardableResult
    public func post(
        to name: ChannelName<Void>,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        deliver((), to: name, from: sender, echo: echo, isolation: isolation)
    }

    @inlinable
    @inline(__always)
    func deliver<Message: Sendable>(
        _ message: Message,
        to name: ChannelName<Message>,
        from sender: (any AnyObject & Sendable)?,
        echo: Bool,
        isolation: isolated (any Actor)?
    ) -> Int {
        if let keeper = keeper(name.key, ofMessages: Message.self) {
            // The channel lives until the post has gone round, whatever becomes of its name.
            defer { withExtendedLifetime(keeper) {} }
            return withUnsafePointer(to: message) {
                // The list only reads it.
                keeper.list.post(UnsafeMutableRawPointer(mutating: $0), from: sender, echo: echo, isolation: isolation)
            }
        }
        if let found = find(name.key, ofMessages: Message.self) {
            // What is found under a type of messages is a channel of that type.
            return unsafeDowncast(found, to: Channel<Message>.self).post(message, from: sender, echo: echo, isolation: isolation)
        }
        return channelToPost(name)?.post(message, from: sender, echo: echo, isolation: isolation) ?? 0
    }

    /// Delivers a message and suspends until every listener has finished with it. See ``Channel/postAndWait(_:from:echo:isolation:)``.
    @discardableResult
    public func postAndWait<Message: Sendable>(
        _ message: Message,
        to name: ChannelName<Message>,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        guard let channel = channelToPost(name) else { return DeliveryReport() }
        return await channel.postAndWait(message, from: sender, echo: echo, isolation: isolation)
    }

    /// Delivers a message that says only that it was posted, and suspends until every listener has finished with it.
    @discardableResult
    public func postAndWait(
        to name: ChannelName<Void>,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        await postAndWait((), to: name, from: sender, echo: echo, isolation: isolation)
    }

    /// Delivers a dictionary and suspends until every listener has finished with it; see
    /// ``post(_:to:from:echo:isolation:)-([String:Sendable],_,_,_,_)``.
    @discardableResult
    public func postAndWait(
        _ message: [String: any Sendable],
        to name: ChannelName<[String: any Sendable]>,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        guard let channel = channelToPost(name) else { return DeliveryReport() }
        return await channel.postAndWait(message, from: sender, echo: echo, isolation: isolation)
    }

    /// Ends every listener and interceptor of an owner on one name, whatever the name stands for.
    ///
    /// - Complexity: O(*n*) in the number of listeners of the name.
    public func removeListeners<Message: Sendable>(of owner: AnyObject, from name: ChannelName<Message>) {
        registry.list(name.key)?.removeListeners(of: owner)
    }

    @usableFromInline
    func register<Message: Sendable>(
        _ plan: ListenerPlan,
        to name: ChannelName<Message>,
        _ priority: Priority,
        _ buffering: BufferingPolicy,
        _ site: PackedSite,
        once: Bool = false
    ) -> ListenerToken {
        let channel = channel(name)
        // The registration keeps it from here on.
        defer { withExtendedLifetime(channel) {} }
        return channel.list.register(plan, priority, buffering, site, once: once)
    }
}
