extension AsyncSequence where Element: Sendable {
    /// Posts every element, and returns when the sequence ends.
    ///
    /// ```swift
    /// let feed = Task { try await socket.frames.post(to: frames) }
    /// ```
    ///
    /// The task that calls it is the link between the two: cancel it to end the link. After that no further
    /// element is asked for, whether or not the sequence looks at cancellation. Each element has been posted
    /// before the next is asked for, with ``Channel/post(_:from:echo:fileID:line:isolation:)``, on the isolation
    /// of the caller: a listener on it is called directly. Listeners that wait in mailboxes are not waited
    /// for, so a fast sequence needs a bound there. It keeps the channel alive while it runs.
    ///
    /// - Parameters:
    ///   - channel: Where the elements are posted.
    ///   - isolation: The caller's isolation. Omit it.
    /// - Throws: What the sequence throws. Elements posted before stay posted.
    public func post(
        to channel: Channel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        var iterator = makeAsyncIterator()
        while !Task.isCancelled, let element = try await iterator.next(isolation: isolation) {
            channel.post(element, fileID: fileID, line: line, isolation: isolation)
        }
    }

    /// Posts every element on a named channel, which it keeps alive while it runs. See `post(to:)` of a channel.
    public func post(
        to channel: NamedChannel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        try await post(to: channel.channel, fileID: fileID, line: line, isolation: isolation)
    }

    /// Stores every element in a state, and returns when the sequence ends. See `post(to:)` of a channel.
    public func post(
        to state: StateChannel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        var iterator = makeAsyncIterator()
        while !Task.isCancelled, let element = try await iterator.next(isolation: isolation) {
            state.set(element, fileID: fileID, line: line, isolation: isolation)
        }
    }
}
