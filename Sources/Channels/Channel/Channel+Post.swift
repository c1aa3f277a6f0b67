extension Channel {
    /// Delivers a message to every listener registered when the call begins.
    ///
    /// Interceptors run first, then listeners in order of priority, then of registration. Listeners that are
    /// nonisolated, or have the caller's isolation, run before this method returns; ``Channel`` says when not. For all
    /// others, the message is enqueued in their mailboxes. No lock is held while a listener runs, so it may use this
    /// channel. A listener registered during the call misses this message. A listener that is paused, or is cancelled
    /// before its turn, is neither called nor counted.
    ///
    /// A post made by a listener of this channel during its call follows the channel's ``Reentrancy``, which may refuse
    /// it. A post made inside a listener of any channel is refused if less than 64 KB of the thread's stack is left. A
    /// refused post is not delivered, returns 0 and raises ``Fault/Code/recursionLimit``.
    ///
    /// - Parameters:
    ///   - sender: The poster, available as ``Posted/sender``.
    ///   - echo: Whether the sender's own listeners and interceptors receive the message.
    ///   - isolation: The caller's isolation. Leave it out. In a nonisolated method it is nil, so main-actor listeners
    ///     receive its posts through their mailboxes. Such a method can take on its caller's isolation: `func sell(_
    ///     sale: Sale, isolation: isolated (any Actor)? = #isolation) { sold.post(sale) }`.
    /// - Returns: How many listeners were reached: called, or given the message to enqueue, even if a full buffer dropped
    ///   it. For a deferred post (`.queued`), how many are registered.
    /// - Complexity: O(*n*) in the number of listeners. Direct calls do not allocate, except that a post whose message
    ///   is larger than three words allocates once if a pattern has a listener. A mailbox allocates blocks of messages.
    ///   A post with a sender allocates an envelope if the sender has to be kept in a mailbox or passed to a listener.
    @inlinable @discardableResult
    public func post(
        _ message: Message,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        // Keeps the list alive until the post has ended, even if a listener releases the caller's reference.
        defer { withExtendedLifetime(self) {} }
        let post = PostOptions(from: sender, echo: echo, isolation: isolation, at: PackedSite(fileID, line))
        return MessageAddress.lending(message) { list.post($0, post) }
    }

    /// Delivers a message, and suspends until every listener that it reaches has finished with it, including async
    /// ones.
    ///
    /// A sequence has finished when the message is in its buffer. Called inside a listener, this method waits neither
    /// for that listener nor for listeners that are themselves waiting for it. If the task is cancelled or the time is
    /// up, delivery continues, and the report counts the listeners that have not finished.
    ///
    /// - Parameter timeout: How long to wait; nil for no limit. Time during which the machine sleeps does not
    ///   count.
    /// - Returns: The outcome of the message.
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
        let site = PackedSite(fileID, line)
        return await postAndWait(
            message,
            from: sender,
            origin: .local,
            echo: echo,
            timeout: timeout,
            at: site,
            isolation: isolation
        )
    }

    /// Delivers a message from another process, and suspends until every listener has finished with it.
    package func postAndWait(
        _ message: Message,
        from origin: MessageOrigin,
        _ delivery: RemoteDelivery? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        await postAndWait(message, from: nil, origin: origin, delivery, echo: true, at: .unknown, isolation: isolation)
    }

    @discardableResult
    func postAndWait(
        _ message: Message,
        from sender: (any AnyObject & Sendable)?,
        origin: MessageOrigin,
        _ delivery: RemoteDelivery? = nil,
        echo: Bool,
        timeout: Duration? = nil,
        at site: PackedSite,
        isolation: isolated (any Actor)?
    ) async -> DeliveryReport {
        let tracker = PostTracker(chain: ListenerChain.call)
        let envelope = Envelope(list.name, sender: sender, origin: origin, delivery, tracker: tracker)
        let post = PostOptions(from: sender, echo: echo, isolation: isolation, at: site, envelope)
        MessageAddress.lending(message) { _ = list.post($0, post) }
        return await tracker.wait(timeout: timeout)
    }

    /// Delivers a message from another process, without waiting for its listeners.
    /// - Parameter onEnd: Called on any thread when every listener has finished with it.
    package func post(
        _ message: Message,
        from origin: MessageOrigin,
        _ delivery: RemoteDelivery? = nil,
        isolation: isolated (any Actor)? = #isolation,
        onEnd: @escaping @Sendable () -> Void
    ) {
        let tracker = PostTracker(chain: ListenerChain.call, onEnd: onEnd)
        let envelope = Envelope(list.name, origin: origin, delivery, tracker: tracker)
        let post = PostOptions(isolation: isolation, envelope)
        MessageAddress.lending(message) { _ = list.post($0, post) }
        tracker.end()
    }
}

extension Channel where Message == Void {
    /// Delivers the empty message to every listener registered when the call begins.
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
