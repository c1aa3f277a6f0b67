extension Channel {
    /// Delivers a message to every listener registered when the call begins.
    ///
    /// Interceptors are asked first. Listeners run by priority, then in the order they were registered. Those
    /// that share the caller's isolation, and those without one, run before this method returns; the others
    /// are enqueued in their mailboxes. No lock is held while a listener runs, so it may use this channel. A
    /// listener registered during the call misses this message; one cancelled before its turn is skipped; one
    /// that is paused is neither called nor counted.
    ///
    /// A post made by a listener of this channel while it is being called follows the channel's
    /// ``Reentrancy``. If that refuses it, if 1,024 posts of any channels are on the thread's stack, if less than
    /// 64 KB of the stack is left, or if too many posts have followed from one, the message is not delivered,
    /// 0 is returned and a fault is raised.
    ///
    /// - Parameters:
    ///   - message: The message to deliver.
    ///   - sender: The object that posts, as ``Posted/sender``.
    ///   - echo: Whether the sender's own listeners and interceptors hear it too. Has no effect without a sender.
    ///   - fileID: With `line`, the place of the call, for traces. Omit both.
    ///   - isolation: The caller's isolation, known at compile time. Omit it. A nonisolated method has none,
    ///     whoever calls it: listeners on the main actor then hear its posts through their mailboxes, even if
    ///     it was called on the main actor. Such a method can take its caller's: `func sell(_ sale: Sale,
    ///     isolation: isolated (any Actor)? = #isolation) { sold.post(sale) }`.
    /// - Returns: How many listeners were called or enqueued. For a post that waits on a queued channel: how
    ///   many are registered.
    /// - Complexity: O(*n*) in the number of listeners. Direct calls do not allocate; a mailbox allocates
    ///   blocks of messages, and an envelope for a sender.
    @inlinable @discardableResult
    public func post(
        _ message: Message,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) -> Int {
        // The channel, and with it the list, lives until the post has ended, even if a listener releases the
        // caller's reference.
        defer { withExtendedLifetime(self) {} }
        let post = Post(from: sender, echo: echo, isolation: isolation, at: PackedSite(fileID, line))
        return MessageAddress.lending(message) { list.post($0, post) }
    }

    /// Delivers a message and suspends until every listener reached has finished with it, async ones too.
    ///
    /// Called inside a listener, it delivers to that listener but does not wait for it, nor for listeners
    /// that wait, directly or not, for the one it is called in: a listener cannot wait for itself, whoever has
    /// called the others. A sequence has finished when the message is in its buffer. If the task is cancelled, the
    /// message stays delivered and the report says what had finished by then.
    ///
    /// - Returns: What became of the message.
    @discardableResult
    public func postAndWait(
        _ message: Message,
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        let site = PackedSite(fileID, line)
        return await postAndWait(message, from: sender, origin: .local, echo: echo, at: site, isolation: isolation)
    }

    /// Delivers a message that came in from another process and suspends until every listener has finished
    /// with it.
    package func postAndWait(
        _ message: Message,
        from origin: Origin,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        await postAndWait(message, from: nil, origin: origin, echo: true, at: .unknown, isolation: isolation)
    }

    /// Delivers a message with all that may travel with it, and suspends until every listener has finished.
    @discardableResult
    func postAndWait(
        _ message: Message,
        from sender: (any AnyObject & Sendable)?,
        origin: Origin,
        echo: Bool,
        at site: PackedSite,
        isolation: isolated (any Actor)?
    ) async -> DeliveryReport {
        let tracker = PostTracker(chain: ListenerChain.call)
        let envelope = Envelope(sender: sender, origin: origin, tracker: tracker)
        let post = Post(from: sender, echo: echo, isolation: isolation, at: site, envelope)
        MessageAddress.lending(message) { _ = list.post($0, post) }
        return await tracker.wait()
    }

    /// Delivers a message that came in from another process, without waiting for its listeners.
    ///
    /// - Parameter onEnd: Called on any thread when every listener has finished with it.
    package func post(
        _ message: Message,
        from origin: Origin,
        isolation: isolated (any Actor)? = #isolation,
        onEnd: @escaping @Sendable () -> Void
    ) {
        let tracker = PostTracker(chain: ListenerChain.call, onEnd: onEnd)
        let envelope = Envelope(sender: nil, origin: origin, tracker: tracker)
        let post = Post(isolation: isolation, envelope)
        MessageAddress.lending(message) { _ = list.post($0, post) }
        tracker.end()
    }
}

extension Channel where Message == Void {
    /// Delivers the empty message. See ``post(_:from:echo:fileID:line:isolation:)``.
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

    /// Delivers the empty message, and suspends until every listener has finished with it. See
    /// ``postAndWait(_:from:echo:fileID:line:isolation:)``.
    @discardableResult
    public func postAndWait(
        from sender: (any AnyObject & Sendable)? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        await postAndWait((), from: sender, echo: echo, fileID: fileID, line: line, isolation: isolation)
    }
}
