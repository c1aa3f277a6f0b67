extension StateChannel {
    /// Waits until the state satisfies a condition.
    ///
    /// Registers first and looks then: the current value is asked about, and after it every value set since, in order and none left out, so
    /// that also a value that was soon replaced is found. Does not keep the channel alive.
    ///
    /// ```swift
    /// let reached = await sales.next { $0.total > 1_000 }
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's. Leave it out.
    ///   - predicate: Asked on the caller's isolation, for one value after the other. It may use the channel.
    /// - Returns: The first value that satisfies it, which need not be the one stored by now; nil when the channel goes or the task is cancelled.
    public consuming func next(
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        where predicate: (State) -> Bool
    ) async -> State? {
        var iterator = values(buffering: .unbounded, fileID: fileID, line: line).makeAsyncIterator()
        _ = consume self
        while let value = await iterator.next(isolation: isolation) {
            if predicate(value) { return value }
        }
        return nil
    }
}
