extension AsyncSequence where Element: Sendable {
    /// Posts every element, and returns when the sequence ends.
    ///
    /// ```swift
    /// let feed = Task { try await socket.frames.post(to: frames) }
    /// ```
    ///
    /// Each element is posted in the caller's isolation before the next one is requested, so listeners with that
    /// isolation are called directly. This method does not wait for listeners with a mailbox: limit their buffers if
    /// the sequence is fast. After the task is cancelled, no further element is requested, even if the sequence ignores
    /// cancellation. The channel is kept alive until this method returns.
    ///
    /// - Throws: The error of the sequence. Elements posted before the error remain posted.
    public func post(
        to channel: Channel<Element>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) {
        try await handOver(isolation) { channel.post($0, fileID: fileID, line: line, isolation: isolation) }
    }

    /// Passes every element to a closure, in the caller's isolation, until the sequence ends or the task is cancelled.
    func handOver(_ isolation: isolated (any Actor)?, _ receive: (Element) -> Void) async throws(Failure) {
        var iterator = makeAsyncIterator()
        while !Task.isCancelled, let element = try await iterator.next(isolation: isolation) { receive(element) }
    }
}
