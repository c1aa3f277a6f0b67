import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Many threads at once.
struct ChurnTests {
    /// Threads register and cancel while others post: each listener that stays gets every message exactly
    /// once, in order.
    @Test func listenersThatStayHearEverythingOnceInOrderAmongOthersThatGo() async {
        let channel = Channel<(poster: Int, number: Int)>()
        let owner = Owner()
        let clerk = Clerk()
        let stable = (0..<6).map { _ in Recorder<(poster: Int, number: Int)>() }
        let posted = 1_000
        var tokens = [
            channel.listen(priority: .high) { stable[0].record($0) },
            channel.listen(priority: .low) { stable[1].record($0) },
            channel.listen { (message: (poster: Int, number: Int)) async in stable[2].record(message) },
            channel.listen(on: .global()) { stable[3].record($0) },
        ]
        tokens.append(channel.listen(owner) { _, message in stable[4].record(message) })
        tokens.append(channel.listen(clerk) { (_: isolated Clerk, message) in stable[5].record(message) })
        let isOver = Tally()
        await onThreads(4) { index in
            guard index < 2 else {
                var random = SeededGenerator(seed: index)
                while isOver.value < 2 {
                    let priority = ListenerPriority(Int.random(in: -150...150, using: &random))
                    let passing = Owner()
                    let first = channel.listen(priority: priority) { _ in }
                    channel.listen(passing, priority: priority) { _, _ in }
                    let second = channel.listen { (_: (poster: Int, number: Int)) async in }
                    first.cancel()
                    second.cancel()
                }
                return
            }
            for number in 0..<posted { channel.post((index, number)) }
            isOver.add()
        }
        await channel.postAndWait((9, 0))
        for heard in stable {
            #expect(heard.count == 2 * posted + 1)
            for poster in 0..<2 {
                #expect(heard.all.filter { $0.poster == poster }.map(\.number) == Array(0..<posted))
            }
        }
        #expect(channel.listenerCount == stable.count)
        withExtendedLifetime((tokens, owner, clerk)) {}
    }

    /// Listeners of A post to B, register and cancel there, and the other way round, on two threads: no
    /// deadlock, and nothing is lost.
    @Test(arguments: [Reentrancy.nested(limit: 64), .queued])
    func twoThreadsPostAcrossTwoChannelsInOppositeDirections(reentrancy: Reentrancy) async {
        let channels = (0..<2).map { _ in Channel<Int>(reentrancy: reentrancy) }
        let heard = [Tally(), Tally()]
        let tokens = (0..<2).map { index in
            channels[index].listen { message in
                heard[index].add()
                let passing = channels[1 - index].listen { _ in }
                if message > 0 { channels[1 - index].post(message - 1) }
                passing.cancel()
            }
        }
        await onThreads(2) { index in for _ in 0..<1_000 { channels[index].post(5) } }
        #expect(heard.map(\.value) == [6_000, 6_000])
        #expect(channels.map(\.listenerCount) == [1, 1])
        withExtendedLifetime(tokens) {}
    }

    @Test func onceIsCalledOnceHoweverManyThreadsPost() async {
        for _ in 0..<200 {
            let channel = Channel<Int>()
            let calls = Tally()
            let owner = Owner()
            let token = channel.listen(once: true) { _ in calls.add() }
            channel.listen(owner, once: true) { _, _ in calls.add() }
            let reached = Tally()
            await onThreads(3) { _ in reached.add(channel.post(1)) }
            #expect(calls.value == 2)
            #expect(reached.value == 2)
            withExtendedLifetime((token, owner)) {}
        }
    }

    /// A post may end at any point of a cancellation.
    @Test func noClosureIsKeptWherePostsEndWhileItsListenerIsCancelled() async {
        let channel = Channel<Int>()
        let living = Tally()
        await whilePosting(on: channel, threads: 1) {
            for _ in 0..<50_000 {
                channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }.cancel()
            }
        }
        #expect(living.value == 0)
    }
}
