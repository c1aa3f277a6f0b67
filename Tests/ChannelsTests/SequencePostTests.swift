import Channels
import ChannelsTesting
import Testing

struct SequencePostTests {
    @Test func everyElementIsPostedInOrderAndTheEndIsTold() async {
        let channel = Channel<Int>()
        let heard = Recorder(of: channel)
        let (numbers, source) = AsyncStream<Int>.makeStream()
        for number in 1...3 { source.yield(number) }
        source.finish()
        await numbers.post(to: channel)
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

    @Test func elementsArePostedOnANamedChannel() async {
        let board = Switchboard()
        let heard = Recorder(of: board[Int.self])
        let (numbers, source) = AsyncStream<Int>.makeStream()
        source.yield(7)
        source.finish()
        await numbers.post(to: board[Int.self])
        #expect(heard.all == [7])
    }

    @Test func elementsAreStoredInAState() async {
        let state = StateChannel(0)
        let (numbers, source) = AsyncStream<Int>.makeStream()
        source.yield(5)
        source.finish()
        await numbers.post(to: state)
        #expect(state.value == 5)
    }

    @MainActor
    @Test func listenerOfTheCallersIsolationIsCalledDirectly() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { heard.record($0) }
        let (numbers, source) = AsyncStream<Int>.makeStream()
        source.yield(1)
        source.finish()
        await numbers.post(to: channel)
        #expect(heard.all == [1])
        withExtendedLifetime(token) {}
    }
}
