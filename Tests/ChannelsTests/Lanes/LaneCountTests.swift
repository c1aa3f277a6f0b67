import ChannelsTesting
import Dispatch
import Synchronization
import Testing

@testable import Channels

/// What a lane knows while it delivers: how many messages wait that were posted on its own actor, and which listener it
/// is calling.
struct LaneCountTests {
    private let executor = HeldExecutor()
    private let heard = Recorder<Int>()

    @Test(arguments: [BufferingPolicy.unbounded, .newest(8), .oldest(8)])
    func whatIsPostedOnTheActorIsCountedUntilItHasBeenHeard(policy: BufferingPolicy) async throws {
        let (actor, channel) = (HeldActor(on: executor), Channel<Int>())
        let token = channel.listen(actor, buffering: policy) { [heard] _, number in heard.record(number) }
        let lane = try #require(token.entry.mailbox?.lane)
        channel.post(1)
        // The drain's job.
        await executor.wait(for: 1)
        let posting = Task { await actor.run { me in for number in 2...5 { channel.post(number, isolation: me) } } }
        await executor.wait(for: 2)
        await executor.run(at: 1)
        #expect(lane.ownWaiting.load(ordering: .relaxed) == 4 && heard.all == [])
        await executor.run { heard.count == 5 }
        #expect(heard.all == Array(1...5))
        await expectNothingWaits(in: lane)
        await posting.value
    }

    @Test func aTurnOfAStateThatIsExpectedOnTheActorIsCountedUntilItHasCome() async throws {
        let (actor, state) = (HeldActor(on: executor), StateChannel(0))
        let waiting = Recorder<Int>()
        let token = state.listen(actor) { [heard] _, value in heard.record(value) }
        let lane = try #require(token.entry.mailbox?.lane)
        state.listen(actor) { me, value in
            guard value == 1 else { return }
            state.set(2, isolation: me)
            waiting.record(lane.ownWaiting.load(ordering: .relaxed))
        }
        await executor.run { heard.count == 1 }
        let setting = Task { await actor.run { me in state.set(1, isolation: me) } }
        await executor.run { heard.count == 3 }
        await setting.value
        // Each of the two listeners.
        #expect(heard.all == [0, 1, 2] && waiting.all == [2])
        await expectNothingWaits(in: lane)
    }

    /// Whoever waits for the call before is told between the two, in the middle of a turn.
    @Test func whoeverDrainsAListenerWaitsForItsCallAlsoWhereTheCallBeforeWasAwaited() async throws {
        let queue = DispatchQueue.suspended()
        let channels = [Channel<Int>(), Channel<Int>()]
        let gates = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        let entered = Tally()
        let tokens = [0, 1].map { index in
            channels[index].listen(on: queue) { _ in
                entered.add()
                gates[index].wait()
            }
        }
        let lane = try #require(tokens[0].entry.mailbox?.lane)
        for channel in channels { channel.post(1) }
        queue.resume()
        await entered.wait(until: 1)
        let first = Task { await tokens[0].cancelAndDrain() }
        while !lane.isAwaited { await Task.yield() }
        gates[0].signal()
        await first.value
        await entered.wait(until: 2)
        let hasDrained = Gate()
        let second = Task {
            await tokens[1].cancelAndDrain()
            hasDrained.open()
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(!hasDrained.isOpen)
        gates[1].signal()
        await second.value
    }

    /// The drain settles what it has called once it has found that nothing else waits.
    private func expectNothingWaits(in lane: Lane) async {
        await executor.run { lane.lock.withLock { lane.state.phase == .idle } }
        #expect(lane.ownWaiting.load(ordering: .relaxed) == 0)
        #expect(!lane.lock.withLock { lane.state.ownPosters.contains(1) })
    }
}
