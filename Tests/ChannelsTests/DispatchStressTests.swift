import Channels
import Dispatch
import Foundation
import Testing

/// Everything at once, for a second or, with `CHANNELS_STRESS_SECONDS`, for as long as asked: what a
/// sanitizer is to look at. `Scripts/verify stress` runs it under two. Threads choose by seeds; the seed of a
/// round that fails is in the report.
@Suite(.serialized)
struct DispatchStressTests {
    /// Posters, also nested and on threads that come and go, beside listeners that come, pause, cancel and
    /// lose their owners.
    @Test func listenersThatStayHearEachPostOnceAndWhatGoesIsFreed() async {
        await repeatRounds("posts and changes") { seed in
            let living = Tally()
            let outcome = await Crowd(seed: seed.number, living: living).run()
            #expect(
                outcome.heard.allSatisfy { $0 == outcome.posts },
                "seed \(seed): \(outcome.posts) posts, heard \(outcome.heard)"
            )
            #expect(outcome.wrongCalls == 0, "seed \(seed): calls after cancelAndWait, or a second call of a `once`")
            #expect(outcome.remaining == outcome.heard.count - 1, "seed \(seed)")
            await living.wait(untilAtMost: 0)
            return outcome.posts
        }
    }

    /// Chains of posts through a ring of channels, longer than posts of one channel may nest: each post is heard
    /// once or refused with a fault.
    @Test func postsBeyondTheLimitAreHeardOnceOrRefusedWithAFault() async {
        await repeatRounds("nested posts") { seed in
            let living = Tally()
            let ring = Ring(living: living)
            let outcome = await ring.run(seed: seed.number)
            #expect(outcome.heard == 2 * Ring.chainsOfEach * Ring.count * 64, "seed \(seed)")
            #expect(outcome.refused == 2 * Ring.chainsOfEach, "seed \(seed)")
            ring.close()
            await living.wait(untilAtMost: 0)
            return outcome.heard
        }
    }

    /// One round, or as many as fit into the time asked for; prints what was done when it was asked for.
    private func repeatRounds(_ what: String, _ round: (Seed) async -> Int) async {
        let seconds = ProcessInfo.processInfo.environment["CHANNELS_STRESS_SECONDS"].flatMap(Double.init)
        let end = ContinuousClock.now.advanced(by: .seconds((seconds ?? 0) / 2))
        var (rounds, posts) = (0, 0)
        repeat {
            posts += await round(Seed.first(1)[0].advanced(by: rounds))
            rounds += 1
        } while ContinuousClock.now < end
        if let seconds { print("\(what): \(rounds) rounds, \(posts) posts in \(seconds / 2) s") }
    }
}

/// One channel and those who use it.
private final class Crowd: Sendable {
    private static let waves = 3
    private static let postsOfEach = 60

    private let seed: Int
    private let living: Tally
    private let board = Switchboard()
    private let posts = Tally()
    private let wrongCalls = Tally()

    init(seed: Int, living: Tally) {
        self.seed = seed
        self.living = living
    }

    struct Outcome {
        let posts: Int
        /// How many messages each listener, and the one interceptor, that was there all the time has got.
        let heard: [Int]
        let wrongCalls: Int
        let remaining: Int
    }

    func run() async -> Outcome {
        let channel = board.channel(ChannelName<Int>("stress.crowd"))
        let heard = (0..<8).map { _ in Tally() }
        let owner = Owner()
        let clerk = Clerk()
        let witness = Witness(living)
        let tokens = [
            // Posts again, one less, until none is left: the chain of a message *n* is *n* + 1 posts.
            channel.listen { [unowned channel, posts, witness] message in
                heard[0].add()
                if message > 0 {
                    posts.add()
                    channel.post(message - 1)
                }
                withExtendedLifetime(witness) {}
            },
            channel.listen(priority: .high) { _ in heard[1].add() },
            channel.listen(owner, priority: .low) { _, _ in heard[2].add() },
            channel.listen(on: .global()) { _ in heard[3].add() },
            channel.listen(clerk) { (_: isolated Clerk, _) in heard[4].add() },
            channel.listen { (_: Int) async in heard[5].add() },
            board[matching: "stress.*"].listen { _ in heard[6].add() },
            channel.intercept { [witness] _ in
                heard[7].add()
                return withExtendedLifetime(witness) { .continue }
            },
        ]
        async let drained: Void = drain(channel)
        for wave in 0..<Self.waves {
            // Each wave has threads of its own, which take over what those of the last one left.
            await onThreads(5) { [self] thread in
                var random = SeededGenerator(seed: (seed * Self.waves + wave) * 8 + thread)
                if thread < 2 { post(on: channel, &random) } else { change(channel, &random) }
            }
        }
        await drained
        posts.add()
        await channel.postAndWait(0)
        let remaining = channel.listenerCount
        for token in tokens { await token.cancelAndWait() }
        withExtendedLifetime((owner, clerk)) {}
        return Outcome(
            posts: posts.value,
            heard: heard.map(\.value),
            wrongCalls: wrongCalls.value,
            remaining: remaining
        )
    }

    private func post(on channel: Channel<Int>, _ random: inout SeededGenerator) {
        for _ in 0..<Self.postsOfEach {
            posts.add()
            let depth = Int.random(in: 0..<12, using: &random)
            if Bool.random(using: &random) {
                channel.post(depth)
            } else {
                // Takes the way around: the sender's own listeners would be skipped.
                channel.post(depth, from: Owner(), echo: false)
            }
        }
    }

    /// Listeners of every kind come and go.
    private func change(_ channel: Channel<Int>, _ random: inout SeededGenerator) {
        var kept: [ListenerToken] = []
        for _ in 0..<2 * Self.postsOfEach {
            let priority = ListenerPriority(Int.random(in: -2...2, using: &random) * 60)
            let witness = Witness(living)
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                // Goes at once, as its owner does.
                let passing = Owner { [witness] in withExtendedLifetime(witness) {} }
                channel.listen(passing, priority: priority) { _, _ in withExtendedLifetime(witness) {} }
            case 1:
                // Cancels itself, and so lets go of the token that its closure holds.
                let own = Slot<ListenerToken>()
                let token = channel.listen(priority: priority) { [own] _ in
                    own.value?.cancel()
                    own.value = nil
                    withExtendedLifetime(witness) {}
                }
                own.value = token
                kept.append(token)
            case 2:
                let calls = Tally()
                let token = channel.listen(priority: priority, once: true) { [wrongCalls] _ in
                    if calls.add() > 0 { wrongCalls.add() }
                    withExtendedLifetime(witness) {}
                }
                kept.append(token)
            case 3:
                let token = channel.listen(priority: priority) { _ in withExtendedLifetime(witness) {} }
                token.pause()
                if Bool.random(using: &random) { token.resume() }
                kept.append(token)
            case 4:
                kept.append(
                    channel.intercept(priority: priority) {
                        .replace(withExtendedLifetime(witness) { [message = $0.message] in message })
                    }
                )
            case 5:
                kept.append(channel.listen(priority: priority) { (_: Int) async in withExtendedLifetime(witness) {} })
            case 6:
                kept.append(
                    board[matching: "stress.>"].listen(priority: priority) { _ in withExtendedLifetime(witness) {} }
                )
            default:
                // Registers and cancels inside a call.
                kept.append(
                    channel.listen(priority: priority) { [unowned channel] _ in
                        channel.listen { _ in withExtendedLifetime(witness) {} }.cancel()
                    }
                )
            }
            if kept.count > 6 { kept.remove(at: Int.random(in: 0..<kept.count, using: &random)).cancel() }
        }
        for token in kept { token.cancel() }
    }

    /// After `cancelAndWait` no call runs and none begins.
    private func drain(_ channel: Channel<Int>) async {
        for index in 0..<40 {
            let isOver = Slot(false)
            let witness = Witness(living)
            let token =
                index % 2 == 0
                ? channel.listen { [wrongCalls] _ in
                    if isOver.value == true { wrongCalls.add() }
                    withExtendedLifetime(witness) {}
                }
                : channel.listen { [wrongCalls] (_: Int) async in
                    if isOver.value == true { wrongCalls.add() }
                    withExtendedLifetime(witness) {}
                }
            await Task.yield()
            await token.cancelAndWait()
            isOver.value = true
        }
    }
}

/// Channels each of which hands on to the next.
private final class Ring: Sendable {
    static let chainsOfEach = 2
    /// Each has up to 64 posts on a thread. The thread sanitizer has room for about 65,000 calls.
    static let count = 16

    private let channels: [Channel<Int>]
    private let tokens: [ListenerToken]
    private let living: Tally
    private let heard = Tally()
    private let refused: Tally

    init(living: Tally) {
        let (heard, refused) = (heard, Tally())
        let channels = (0..<Self.count).map { _ in
            Channel<Int>(onFault: { if $0.code == .recursionLimit { refused.add() } })
        }
        tokens = (0..<Self.count).map { index in
            channels[index].listen {
                [unowned next = channels[(index + 1) % Self.count], witness = Witness(living)] message in
                heard.add()
                next.post(message + 1)
                withExtendedLifetime(witness) {}
            }
        }
        self.channels = channels
        self.living = living
        self.refused = refused
    }

    func run(seed: Int) async -> (heard: Int, refused: Int) {
        let ended = Tally()
        await onThreads(3) { [self] thread in
            var random = SeededGenerator(seed: seed * 4 + thread)
            if thread < 2 {
                for _ in 0..<Self.chainsOfEach { channels[Int.random(in: 0..<Self.count, using: &random)].post(0) }
                ended.add()
                return
            }
            // What is retired here is in the hands of many posts of each of two threads.
            while ended.value < 2 {
                let channel = channels[Int.random(in: 0..<Self.count, using: &random)]
                let token = channel.listen(priority: .high) { [witness = Witness(living)] _ in
                    withExtendedLifetime(witness) {}
                }
                let owner = Owner()
                channel.listen(owner) { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
                token.cancel()
            }
        }
        return (heard.value, refused.value)
    }

    func close() {
        for token in tokens { token.cancel() }
        // Finds those whose owners have gone.
        for channel in channels { _ = channel.listenerCount }
    }
}
