extension StateChannel {
    /// Stores a value, and suspends until every listener that it reaches has finished with it, including async ones.
    ///
    /// Values are delivered one after the other, so this method first waits for the value's turn. Inside a listener, it
    /// does not wait for listeners that are awaiting the caller.
    ///
    /// - Parameters:
    ///   - sender: The object that sets the value, available as ``Posted/sender``.
    ///   - timeout: How long to wait; nil for no limit. The value stays set when the time is up.
    /// - Returns: The outcome of delivering the value. A refused value is not delivered.
    @discardableResult
    public func setAndWait(
        _ value: State,
        from sender: (any AnyObject & Sendable)? = nil,
        timeout: Duration? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async -> DeliveryReport {
        let tracker = PostTracker.awaitingTurn()
        let post = tracker.post(on: core.list, from: sender, isolation, PackedSite(fileID, line))
        return await tracker.wait(isWaiting: store(value, post), timeout: timeout)
    }

    /// Changes the value in place, and suspends until every listener that it reaches has finished with it.
    ///
    /// Values are delivered one after the other, so this method first waits for the value's turn. Inside a listener, it
    /// does not wait for listeners that are awaiting the caller. The body runs under the state's lock, and must not use
    /// the state.
    ///
    /// - Parameters:
    ///   - sender: The object that changes the value, available as ``Posted/sender``.
    ///   - timeout: How long to wait; nil for no limit. The change stays when the time is up.
    /// - Returns: The outcome of delivering the value. A refused change is not delivered.
    @discardableResult
    public func updateAndWait<Failure: Error>(
        from sender: (any AnyObject & Sendable)? = nil,
        timeout: Duration? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout State) throws(Failure) -> Void
    ) async throws(Failure) -> DeliveryReport {
        let tracker = PostTracker.awaitingTurn()
        var waits = false
        try update(tracker.post(on: core.list, from: sender, isolation, PackedSite(fileID, line)), &waits, body)
        return await tracker.wait(isWaiting: waits, timeout: timeout)
    }
}

extension PostTracker {
    /// Makes a tracker that waits for the value's turn as well as for its listeners.
    fileprivate static func awaitingTurn() -> PostTracker {
        let tracker = PostTracker(chain: ListenerChain.call)
        tracker.expectOne(isListener: false)
        return tracker
    }

    fileprivate func post(
        on list: ListenerList,
        from sender: (any AnyObject & Sendable)?,
        _ isolation: (any Actor)?,
        _ site: PackedSite
    ) -> PostOptions {
        PostOptions(isolation: isolation, at: site, Envelope(list.name, sender: sender, tracker: self))
    }

    /// - Parameter isWaiting: Whether the value's turn is still to come.
    fileprivate func wait(isWaiting: Bool, timeout: Duration?) async -> DeliveryReport {
        if !isWaiting { finish(.settled) }
        return await wait(timeout: timeout)
    }
}
