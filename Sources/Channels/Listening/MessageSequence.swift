/// The messages of a source as an asynchronous sequence. Made by
/// ``Listenable/messages(buffering:priority:fileID:line:)``.
///
/// It begins with the first message posted after it was created, whether or not it is iterated yet: messages
/// wait in its buffer. It does not keep the channel alive; when the channel is deallocated, it yields what
/// waits and ends. Iteration also ends when the iterating task is cancelled. One sequence has one buffer: two
/// iterators share it, and each message goes to one of them; create two sequences for two readers. It stops
/// listening when the sequence and its iterators are released.
public struct MessageSequence<Message: Sendable>: AsyncSequence, Sendable {
    /// The messages.
    public typealias Element = Message
    /// It never fails.
    public typealias Failure = Never

    @usableFromInline let buffer: SequenceBuffer

    init(buffer: SequenceBuffer) { self.buffer = buffer }

    /// Messages dropped because the buffer was full.
    public var droppedCount: Int { buffer.droppedCount }

    /// Messages that wait to be read.
    public var waitingCount: Int { buffer.waitingCount }

    /// A reader. Several share the sequence's buffer.
    @inlinable
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// Reads the messages. Not for two tasks at once: each makes its own.
    @frozen
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let buffer: SequenceBuffer
        @usableFromInline var turn = ReaderTurn()

        @inlinable
        init(buffer: SequenceBuffer) { self.buffer = buffer }

        /// The next message; nil when the channel is deallocated and nothing waits, or when the task is
        /// cancelled.
        ///
        /// A reader that finds a message each time gives way to others on its actor, and to other tasks, once a
        /// millisecond.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Message? {
            while true {
                if turn.ends() { await Task.yield() }
                if let message = take() { return message }
                guard await buffer.waitForMore(&turn) else { return take() }
            }
        }

        @inlinable
        func take() -> Message? {
            MessageAddress.receiving(as: Message.self) { buffer.take(into: $0) }
        }
    }
}

@available(*, unavailable)
extension MessageSequence.Iterator: Sendable {}
