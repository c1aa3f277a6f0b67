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
}
