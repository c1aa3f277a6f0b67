extension Listenable {
    /// The messages from now on, as an asynchronous sequence; of a state, the current value first.
    ///
    /// The sequence listens from this call on, counts as a listener and does not keep the channel alive. See
    /// ``MessageSequence`` for its lifetime.
    ///
    /// - Parameters:
    ///   - buffering: How many messages may wait, and which is dropped when one more arrives. If nil, the
    ///     source decides: a channel keeps all of them, a state the newest value, so that the last one read
    ///     is the one stored.
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

    /// Waits for the next message that satisfies a condition; of a state, the current value is tested first.
    ///
    /// Listens from this call on and tests every message in order. Does not keep the channel alive.
    ///
    /// ```swift
    /// let large = await till.sold.next { $0.total > 100 }
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's isolation. Omit it.
    ///   - predicate: Called on the caller's isolation. It may use the channel.
    /// - Returns: The message; nil when the channel is deallocated or the task is cancelled.
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
