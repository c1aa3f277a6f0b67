extension AsyncSequence where Element: Sendable {
    /// Posts every element on a named channel, kept alive meanwhile, and returns when the sequence ends.
    public func post(
        to channel: NamedChannel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        try await post(to: channel.channel, fileID: fileID, line: line, isolation: isolation)
    }

    /// Stores every element in a state, kept alive meanwhile, and returns when the sequence ends.
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
