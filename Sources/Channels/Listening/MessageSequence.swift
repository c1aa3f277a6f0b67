/// The messages of a source as an asynchronous sequence.
///
/// Create it with ``Listenable/messages(buffering:priority:fileID:line:)``. It begins with the first message posted
/// after that call (for a state, with the current value), and buffers messages until they are read. Iterators share the
/// buffer, and each message goes to only one of them, so create a sequence for each reader. The sequence does not keep
/// the channel alive. When the channel is deallocated or finished, it yields the buffered messages and ends. It also
/// ends when the reading task is cancelled. It stops listening when the sequence and its iterators are released.
public struct MessageSequence<Message: Sendable>: AsyncSequence, Sendable {
    @usableFromInline let buffer: SequenceBuffer

    init(buffer: SequenceBuffer) { self.buffer = buffer }

    /// The number of messages dropped because the buffer was full.
    public var droppedCount: Int { buffer.droppedCount }

    /// The number of messages in the buffer.
    public var waitingCount: Int { buffer.waitingCount }

    /// Creates an iterator, which shares the sequence's buffer.
    @inlinable
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// Reads the messages. Create one for each task.
    @frozen
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let buffer: SequenceBuffer
        @usableFromInline var turn = ReaderTurn()

        @inlinable
        init(buffer: SequenceBuffer) { self.buffer = buffer }

        /// Returns the next message; nil if the task is cancelled, or if the channel has ended and the buffer is empty.
        ///
        /// A reader that never has to wait yields to other tasks about once a millisecond.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Message? {
            while true {
                if turn.endIfDue() { await Task.yield() }
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
