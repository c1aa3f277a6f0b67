extension Listenable {
    /// Returns the messages from now on as an asynchronous sequence; for a state, the current value first.
    ///
    /// The sequence listens from this call on, counts as a listener and does not keep the channel alive.
    ///
    /// - Parameters:
    ///   - buffering: How many messages may wait, and which one is dropped beyond that. By default a channel
    ///     keeps all, and a state the newest value, so that the last one read is the one stored.
    ///   - priority: The place of the sequence among the listeners.
    public func messages(
        buffering: BufferingPolicy? = nil,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MessageSequence<Message> {
        let readers = SequenceReaders()
        let options = ListenerOptions(priority, buffering: buffering, fileID, line)
        let token = register(Listener(nil, .sequence(readers), options, isBare: true, .nothing), isolation: nil)
        return MessageSequence(buffer: SequenceBuffer(token, readers, source: Self.self))
    }

    /// Waits for the next message that satisfies a condition; for a state, the current value is tested first.
    ///
    /// Listens from this call on, tests every message in order, and does not keep the channel alive.
    ///
    /// ```swift
    /// let large = await till.sold.next { $0.total > 100 }
    /// ```
    ///
    /// - Parameter predicate: Called on the caller's isolation. It may use the channel.
    /// - Returns: The message; nil if the channel is deallocated or the task is cancelled.
    public consuming func next(
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        where predicate: (Message) -> Bool = { _ in true }
    ) async -> Message? {
        var iterator = messages(buffering: .unbounded, fileID: fileID, line: line).makeAsyncIterator()
        _ = consume self
        while let message = await iterator.next(isolation: isolation) {
            if predicate(message) { return message }
        }
        return nil
    }
}
