/// The messages of a channel as an asynchronous sequence. Made by ``Channel/messages(buffering:priority:fileID:line:)``.
///
/// It begins with the first message posted after it was made, whether or not anybody iterates yet: what comes meanwhile waits in its
/// buffer. It does not keep the channel alive; when the channel goes, it yields what waits and ends. Iterating ends when the iterating
/// task is cancelled. One sequence has one buffer: two iterators share it, each message going to one of them; make two sequences
/// for two readers. When the sequence and its iterators go, it stops listening.
public struct MessageSequence<Message: Sendable>: AsyncSequence, Sendable {
    /// The messages.
    public typealias Element = Message
    /// It does not fail.
    public typealias Failure = Never

    @usableFromInline let buffer: SequenceBuffer

    init(buffer: SequenceBuffer) {
        self.buffer = buffer
    }

    /// Messages dropped because the buffer was full.
    public var droppedCount: Int { buffer.entry.mailbox?.accounts.dropped ?? 0 }

    /// Messages that wait to be read.
    public var waitingCount: Int { buffer.entry.mailbox?.accounts.waiting ?? 0 }

    /// A reader. Several share the sequence's buffer.
    @inlinable
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: buffer)
    }

    /// Reads the messages. Not for two tasks at once: each makes its own.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let buffer: SequenceBuffer

        @inlinable
        init(buffer: SequenceBuffer) {
            self.buffer = buffer
        }

        /// The next message; nil when the channel has gone and nothing waits, or when the task is cancelled.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Message? {
            while true {
                if let message = take() { return message }
                guard await buffer.waitForMore() else { return take() }
            }
        }

        @inlinable
        func take() -> Message? {
            guard buffer.mayTake else { return nil }
            return withUnsafeTemporaryAllocation(of: Message.self, capacity: 1) { place in
                // `take` initialises the place, which has one element, where it returns true.
                buffer.take(into: UnsafeMutableRawPointer(place.baseAddress.unsafelyUnwrapped)) ? place.moveElement(from: 0) : nil
            }
        }
    }
}

@available(*, unavailable)
extension MessageSequence.Iterator: Sendable {}

extension Channel {
    /// The messages posted from now on.
    ///
    /// The sequence listens from the moment of this call and counts as a listener. Where nothing is said it buffers without limit.
    ///
    /// - Parameters:
    ///   - buffering: How many messages may wait, and which are dropped when more come.
    ///   - priority: Where the sequence stands among the listeners.
    public func messages(
        buffering: BufferingPolicy = .unbounded,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MessageSequence<Message> {
        let buffer = SequenceBuffer(list, buffering, PackedSite(fileID, line))
        list.add(buffer.entry, priority: priority.rawValue)
        return MessageSequence(buffer: buffer)
    }

    /// Waits for the next message that satisfies a condition.
    ///
    /// Listens from the moment of the call and does not keep the channel alive.
    ///
    /// - Parameter predicate: Asked on the caller's isolation, for one message after the other.
    /// - Returns: The message; nil when the channel goes or the task is cancelled.
    public consuming func next(
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        where predicate: (Message) -> Bool = { _ in true }
    ) async -> Message? {
        var iterator = messages(fileID: fileID, line: line).makeAsyncIterator()
        _ = consume self
        while let message = await iterator.next(isolation: isolation) {
            if predicate(message) { return message }
        }
        return nil
    }
}
