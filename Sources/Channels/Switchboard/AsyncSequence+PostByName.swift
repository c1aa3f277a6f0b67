extension AsyncSequence where Element: Sendable {
    /// Posts every element on a named channel, and returns when the sequence ends. The channel is kept alive until this
    /// method returns.
    public func post(
        to channel: NamedChannel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        try await post(to: channel.channel, fileID: fileID, line: line, isolation: isolation)
    }
}
