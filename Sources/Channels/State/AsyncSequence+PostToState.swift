extension AsyncSequence where Element: Sendable {
    /// Stores every element in a state, and returns when the sequence ends. The state is kept alive until this method
    /// returns.
    public func post(
        to state: StateChannel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        try await handOver(isolation) { state.set($0, fileID: fileID, line: line, isolation: isolation) }
    }
}
