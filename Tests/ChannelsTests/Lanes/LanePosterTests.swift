import Channels
import ChannelsTesting
import Testing

/// Rule 7: posts on the lane's own actor.
struct LanePosterTests {
    @MainActor @Test func aPostOnTheActorWaitsWhereMessagesWaitForTheListener() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { message in heard.record(message) }
        onAnotherThread { channel.post(1) }
        channel.post(2)
        #expect(heard.all == [])
        #expect(await heard.wait(count: 2) == [1, 2])
        withExtendedLifetime(token) {}
    }

    @MainActor @Test func whatWaitsForOthersDoesNotDelayAPostOnTheActor() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let tokens = [first, second].map { $0.listen { message in heard.record(message) } }
        onAnotherThread { for number in 0..<10 { first.post(number) } }
        second.post(10)
        #expect(heard.all == [10])
        let all = await heard.wait(count: 11)
        #expect(all == [10] + Array(0..<10))
        withExtendedLifetime(tokens) {}
    }

    @Test func whatWaitedForACancelledListenerDoesNotKeepAPostWaiting() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        let tokens = [first, second].map { $0.listen(actor) { _, message in heard.record(message) } }
        first.post(1)
        // The drain's job.
        await executor.wait(for: 1)
        let one = Task {
            await actor.run { me in
                first.post(2, isolation: me)
                tokens[0].cancel()
                second.post(3, isolation: me)
            }
        }
        await executor.wait(for: 2)
        await executor.run(at: 1)
        #expect(heard.all == [3])
        await executor.run()
        await one.value
    }

    @Test(arguments: [BufferingPolicy.unbounded, .newest(4), .oldest(4)])
    func onceAllIsHeardTheActorsPostIsHeardAtOnce(policy: BufferingPolicy) async {
        let busy = Channel<Int>()
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        busy.listen(actor, buffering: policy) { _, message in heard.record(message) }
        busy.post(1)
        await executor.wait(for: 1)
        let task = Task {
            await actor.run { busy.post(2, isolation: $0) }
            _ = await heard.wait(count: 2)
            // The drain settles what it has called once it has found that nothing else waits.
            await actor.run { _ in }
            await actor.run {
                busy.post(3, isolation: $0)
                #expect(heard.all == [1, 2, 3])
            }
        }
        await executor.wait(for: 2)
        await executor.run(at: 1)
        await executor.run { heard.count == 3 }
        await task.value
    }
}
