internal import Synchronization

extension Listenable {
    /// Returns the messages posted from now on as an asynchronous sequence; for a state, the current value
    /// first.
    ///
    /// The sequence listens from this call on, counts as a listener, and does not keep the channel alive.
    ///
    /// - Parameters:
    ///   - buffering: How many messages may be queued, and which one is dropped when there are more.
    ///   - priority: Where the sequence stands among the listeners.
    public func messages(
        buffering: BufferingPolicy = .automatic,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MessageSequence<Message> {
        let number = SequenceMailbox.makeNumber()
        let options = ListenerOptions(priority, buffering: buffering, fileID, line)
        let token = register(Listener(nil, .sequence(number), options, isBare: true, .nothing), isolation: nil)
        return MessageSequence(buffer: SequenceBuffer(token, number, source: Self.self))
    }

    /// Waits for the next message that satisfies a condition; for a state, the current value is tested first.
    ///
    /// Listens only during this call, tests every message in order, and does not keep the channel alive. A loop of
    /// calls would miss messages posted between two of them: iterate over ``messages(buffering:priority:fileID:line:)``
    /// instead.
    ///
    /// ```swift
    /// let large = await till.sold.first { $0.total > 100 }
    /// ```
    ///
    /// - Parameter predicate: Called in the caller's isolation. It may use the channel.
    /// - Returns: The message; nil if the channel is deallocated or finished, or the task is cancelled.
    public consuming func first(
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

    /// Waits for the next message that satisfies a condition, for a limited time; for a state, the current value is
    /// tested first.
    ///
    /// Listens only during this call, tests every message in order, and does not keep the channel alive.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait. Time during which the machine sleeps does not count.
    ///   - predicate: Called in the caller's isolation. It may use the channel.
    /// - Returns: The message; nil if the channel is deallocated or finished.
    /// - Throws: ``ChannelError/Code/timedOut`` when the time is up, or at once if the timeout is zero or negative;
    ///   `CancellationError` when the task is cancelled.
    public consuming func first(
        timeout: Duration,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        where predicate: (Message) -> Bool = { _ in true }
    ) async throws -> Message? {
        try Task.checkCancellation()
        let over = ChannelError(.timedOut, name: nil, "no matching \(Message.self) arrived within \(timeout)")
        guard timeout > .zero else { throw over }
        let messages = messages(buffering: .unbounded, fileID: fileID, line: line)
        _ = consume self
        let isOver = TimeIsOver()
        let timer = Timeout(after: timeout) {
            isOver.set()
            messages.buffer.close()
        }
        defer {
            extendLifetime(timer)
            // The timer may keep the sequence alive for another moment.
            messages.buffer.end()
        }
        var iterator = messages.makeAsyncIterator()
        while let message = await iterator.next(isolation: isolation) {
            if predicate(message) { return message }
        }
        if isOver.isSet { throw over }
        try Task.checkCancellation()
        return nil
    }
}

private final class TimeIsOver: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
