import Channels
import ChannelsTesting
import Testing

struct SequencePostTests {
    private func stream(_ numbers: ClosedRange<Int>) -> AsyncStream<Int> {
        AsyncStream { source in
            for number in numbers { source.yield(number) }
            source.finish()
        }
    }

    @Test func everyElementIsPostedInOrderAndTheEndIsTold() async {
        let channel = Channel<Int>()
        let heard = Recorder(of: channel)
        await stream(1...3).post(to: channel)
        #expect(heard.all == [1, 2, 3])
    }

    @Test func errorOfTheSequenceIsThrownAfterWhatCameBefore() async {
        let channel = Channel<Int>()
        let heard = Recorder(of: channel)
        let (numbers, source) = AsyncThrowingStream<Int, any Error>.makeStream()
        source.yield(1)
        source.finish(throwing: Trouble())
        await #expect(throws: Trouble.self) { try await numbers.post(to: channel) }
        #expect(heard.all == [1])
    }

    @Test func cancellingTheTaskEndsTheLink() async {
        let (source, goal) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder(of: goal)
        let numbers = source.messages()
        let task = Task { await numbers.post(to: goal) }
        source.post(1)
        #expect(await heard.first(1) == [1])
        task.cancel()
        await task.value
        source.post(2)
        #expect(heard.all == [1])
    }

    /// It ignores cancellation and, with a cancelled task, never suspends.
    private struct Numbers: AsyncSequence, AsyncIteratorProtocol {
        private var last = 0

        mutating func next() async -> Int? {
            last += 1
            if last == 3 { withUnsafeCurrentTask { unsafe $0?.cancel() } }
            return last < 100 ? last : nil
        }

        func makeAsyncIterator() -> Numbers { self }
    }

    @Test func aSequenceThatIgnoresCancellationIsAskedForNoFurtherElement() async {
        let (channel, state) = (Channel<Int>(), StateChannel(0))
        let heard = Recorder(of: channel)
        await Task { await Numbers().post(to: channel) }.value
        #expect(heard.all == [1, 2, 3])
        await Task { await Numbers().post(to: state) }.value
        #expect(state.value == 3)
    }

    @Test func elementsArePostedOnANamedChannelAndStoredInAState() async {
        let (board, state) = (Switchboard(), StateChannel(0))
        let heard = Recorder(of: board[Int.self])
        await stream(7...7).post(to: board[Int.self])
        await stream(5...5).post(to: state)
        #expect(heard.all == [7] && state.value == 5)
    }

    @MainActor
    @Test func listenerOfTheCallersIsolationIsCalledDirectly() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { heard.record($0) }
        await stream(1...1).post(to: channel)
        #expect(heard.all == [1])
        withExtendedLifetime(token) {}
    }
}
