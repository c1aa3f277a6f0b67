import ChannelsTesting
import Dispatch
import Foundation
import Testing

@testable import Channels

/// The jobs of a lane, what is cancelled in it, what it keeps, and its end.
struct LaneLifeTests {
    // MARK: Jobs

    /// A turn that lasts a millisecond ends early; every other one makes 64 calls.
    @Test(arguments: [(posts: 4, turns: 1), (posts: 100, turns: 25)])
    func aBurstOver16ListenersIsOneDrainOf64CallTurns(posts: Int, turns: Int) async {
        let channel = Channel<Int>()
        let heard = Tally()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for _ in 0..<16 { channel.listen(actor) { _, _ in heard.add() } }
        for number in 0..<posts { channel.post(number) }
        await executor.run { heard.value == posts * 16 }
        #expect(executor.count >= turns)
        #expect(executor.count - executor.count(longerThan: .milliseconds(1)) <= turns)
        // The lane is idle: the next message is a job of its own.
        let before = executor.count
        channel.post(posts)
        await executor.run { heard.value == (posts + 1) * 16 }
        #expect(executor.count > before)
        withExtendedLifetime(actor) {}
    }

    /// At most 64 calls are made first, also where the drain has taken more.
    @Test(arguments: [0, 3])
    func aDrainGivesItsActorUpInTheMiddleOfABurst(turnsBefore: Int) async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        channel.listen(actor) { _, message in heard.record(message) }
        for number in 0..<500 { channel.post(number) }
        for _ in 0..<turnsBefore { await executor.run() }
        await executor.wait(for: 1)
        let before = heard.count
        let between = Task { await actor.run { _ in heard.record(-1) } }
        await executor.wait(for: 2)
        await executor.run { heard.count == 501 }
        await between.value
        let place = heard.all.firstIndex(of: -1)
        #expect(place.map { (before + 1...before + 64).contains($0) } == true)
    }

    /// Although the drain has taken more, of others, than it has used.
    @Test func betweenTurnsAnActorsPostCallsAnIdleListenerAtOnce() async {
        let (behind, channel) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        behind.listen(actor) { _, _ in }
        channel.listen(actor) { _, message in heard.record(message) }
        for number in 0..<150 { behind.post(number) }
        channel.post(1)
        for number in 0..<300 { behind.post(number) }
        while heard.count == 0 { await executor.run() }
        await executor.wait(for: 1)
        let post = Task { await actor.run { actor in channel.post(2, isolation: actor) } }
        await executor.wait(for: 2)
        // Before the drain's next turn.
        await executor.run(at: 1)
        #expect(heard.all == [1, 2])
        await post.value
        withExtendedLifetime(actor) {}
    }

    // MARK: Lanes that come and go

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// The last reference to a lane may be released while another thread looks the lane of a new actor up.
    @Test func actorsThatComeAndGoOnManyThreadsNeverHang() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let tokens = Slot<ListenerToken>()
            await onThreads(8) { _ in
                for _ in 0..<20_000 {
                    let clerk = Clerk()
                    tokens.value = channel.listen(clerk) { clerk, message in clerk.note(message) }
                    tokens.value?.cancel()
                }
            }
        }
    }
    #endif

    // MARK: Cancelling

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func oneListenersCallDoesNotDelayCancelAndWaitOfAnother() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let queue = DispatchQueue(label: "lane")
            let channel = Channel<Int>()
            let entered = Gate()
            let leave = DispatchSemaphore(value: 0)
            let slow = channel.listen(on: queue) { _ in
                entered.open()
                leave.wait()
            }
            let other = channel.listen(on: queue) { _ in Issue.record("it is cancelled") }
            channel.post(1)
            await entered.wait()
            await other.cancelAndWait()
            #expect(other.discardedCount == 1 && slow.deliveredCount == 1)
            leave.signal()
            await slow.cancelAndWait()
        }
    }
    #endif

    @Test(arguments: [BufferingPolicy.unbounded, .newest(50), .oldest(50)])
    func aCancelledListenersMessagesAreReleasedAtOnceInAStandingLane(policy: BufferingPolicy) async {
        let queue = DispatchQueue.suspended()
        let (channel, living) = (Channel<Witness>(), Tally())
        let heard = Recorder<Int>()
        let cancelled = channel.listen(on: queue, buffering: policy) { _ in heard.record(-1) }
        let other = Channel<Int>()
        let tokens = (0..<3).map { index in other.listen(on: queue) { heard.record($0 * 3 + index) } }
        for number in 0..<50 {
            channel.post(Witness(living, number))
            other.post(number)
        }
        #expect(living.value == 50)
        cancelled.cancel()
        #expect(living.value == 0)
        #expect(cancelled.discardedCount == 50 && cancelled.waitingCount == 0)
        tokens[1].cancel()
        queue.resume()
        _ = await heard.wait(count: 100)
        let expected: [Int] = (0..<50).flatMap { [$0 * 3, $0 * 3 + 2] }
        #expect(heard.all == expected)
        withExtendedLifetime(tokens) {}
    }

    /// The drain has taken messages of the listener when its turn ends, and it is cancelled before the next. After
    /// the first turn it has more in its hands. Where nobody else listens, turns begin and end without the lock.
    @Test(arguments: [1, 3], [false, true])
    func whatADrainHasTakenIsReleasedAtACancelBetweenTurns(
        turns: Int,
        isAlone: Bool
    ) async {
        let (channel, living) = (Channel<Witness>(), Tally())
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        let token = channel.listen(actor) { _, _ in }
        let heard = Recorder<Int>()
        let other = Channel<Int>()
        if !isAlone { other.listen(actor) { _, message in heard.record(message) } }
        for number in 0..<300 {
            channel.post(Witness(living, number))
            other.post(number)
        }
        for _ in 0..<turns { await executor.run() }
        await executor.wait(for: 1)
        let delivered = token.deliveredCount
        token.cancel()
        #expect(living.value == 0)
        #expect(delivered > 0 && token.discardedCount == 300 - delivered && token.waitingCount == 0)
        // The job that stands there finds nothing of it.
        await executor.run()
        if !isAlone { await executor.run { heard.count == 300 } }
        #expect(token.deliveredCount == delivered && heard.all == (isAlone ? [] : Array(0..<300)))
        withExtendedLifetime(actor) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// The turn goes on with a call of another listener.
    @Test func whoeverHasDrainedAListenerCanReleaseItsOwnerDuringATurn() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let queue = DispatchQueue(label: "lane")
            let (channel, next) = (Channel<Int>(), Channel<Int>())
            let (entered, released) = (Gate(), Gate())
            let proceed = DispatchSemaphore(value: 0)
            let lane = Lane.of(queue)
            var owner: Owner? = Owner { released.open() }
            let token = channel.listen(owner!, on: queue) { _, _ in
                entered.open()
                // Until somebody waits for the end of this call.
                while !lane.isAwaited { sched_yield() }
            }
            let other = next.listen(on: queue) { _ in proceed.wait() }
            queue.suspend()
            channel.post(1)
            next.post(1)
            queue.resume()
            await entered.wait()
            await token.cancelAndWait()
            owner = nil
            await released.wait()
            #expect(owner == nil)
            proceed.signal()
            await other.cancelAndWait()
        }
    }
    #endif

    // MARK: Memory

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// What is dropped from full buffers leaves nothing in a lane that stands still.
    @Test func memoryStaysBoundedForConflatingListenersInAStandingLane() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let queue = DispatchQueue.suspended()
            let living = Tally()
            let channels = (0..<3).map { _ in Channel<Witness>() }
            let tokens = channels.map { $0.listen(on: queue, buffering: .newest(1)) { _ in } }
            let unbounded = Channel<Int>()
            let kept = unbounded.listen(on: queue) { _ in }
            for number in 0..<100 { unbounded.post(number) }
            requireNoGrowth {
                for number in 0..<3_000 {
                    for channel in channels { channel.post(Witness(living, number)) }
                    precondition(living.value <= 3)
                }
            }
            #expect(tokens.allSatisfy { $0.waitingCount == 1 } && kept.waitingCount == 100)
            queue.resume()
            await wait(for: kept.deliveredCount) { $0 >= 100 }
            for token in tokens { await token.cancelAndWait() }
            #expect(living.value == 0)
        }
    }
    #endif

    @Test func listenersThatComeAndGoLeaveNothingInAStandingLane() async {
        let queue = DispatchQueue.suspended()
        let (messages, captured) = (Tally(), Tally())
        let channel = Channel<Witness>()
        for number in 0..<2_000 {
            let capture = Witness(captured)
            let token = channel.listen(on: queue) { _ in withExtendedLifetime(capture) {} }
            channel.post(Witness(messages, number))
            token.cancel()
            #expect(messages.value == 0)
        }
        queue.resume()
        await captured.wait(untilAtMost: 0)
    }

    // MARK: The end of a lane

    @Test func theLaneOfAnActorGoesWhenNobodyListensAnyMore() async {
        let channel = Channel<Int>()
        var clerk: Clerk? = Clerk()
        weak var lane: Lane?
        weak var actor: Clerk?
        actor = clerk
        do {
            let heard = Recorder<Int>()
            let token = channel.listen(clerk!) { (_: isolated Clerk, message) in heard.record(message) }
            lane = Lane.of(clerk!)
            #expect(lane === Lane.of(clerk!))
            channel.post(1)
            #expect(await heard.wait(count: 1) == [1])
            await token.cancelAndWait()
        }
        await wait(for: lane == nil) { $0 }
        #expect(actor != nil)
        clerk = nil
        await wait(for: actor == nil) { $0 }
    }

    /// Kept: a key that is freed may have the address of the next one.
    private static let witness = DispatchSpecificKey<Witness>()

    @Test func theLaneAfterOneThatHasGoneIsTheOnlyOne() {
        let queue = DispatchQueue(label: "lane")
        // It goes at once.
        _ = Lane.of(queue)
        let first = Lane.of(queue)
        #expect(Lane.of(queue) === first)
    }

    @Test func aQueuesLaneGoesWhenNobodyListensAndKeepsNoQueue() async {
        let channel = Channel<Int>()
        let living = Tally()
        weak var lane: Lane?
        do {
            let queue = DispatchQueue(label: "lane")
            // Released with the queue.
            queue.setSpecific(key: Self.witness, value: Witness(living))
            let heard = Recorder<Int>()
            let token = channel.listen(on: queue) { heard.record($0) }
            lane = Lane.of(queue)
            #expect(lane === Lane.of(queue))
            channel.post(1)
            #expect(await heard.wait(count: 1) == [1])
            await token.cancelAndWait()
        }
        await wait(for: lane == nil) { $0 }
        await living.wait(untilAtMost: 0)
    }

    @Test func whatWaitsForAnActorThatGoesIsDiscardedAndAccountedExactly() async {
        let (channel, other) = (Channel<Witness>(), Channel<Witness>())
        let (living, calls) = (Tally(), Tally())
        let executor = HeldExecutor()
        var actor: HeldActor? = HeldActor(on: executor)
        weak var gone: HeldActor?
        gone = actor
        let tokens = [
            channel.listen(actor!) { _, _ in calls.add() },
            channel.listen(actor!, buffering: .newest(150)) { _, _ in calls.add() },
            other.listen(actor!) { _, _ in calls.add() },
        ]
        for number in 0..<200 {
            channel.post(Witness(living, number))
            other.post(Witness(living, number))
        }
        // The drain holds the actor for one turn.
        await executor.wait(for: 1)
        actor = nil
        await executor.run()
        await wait(for: living.value) { $0 == 0 }
        #expect(gone == nil)
        #expect(calls.value <= 64 && calls.value == tokens.map(\.deliveredCount).reduce(0, +))
        for token in tokens {
            #expect(token.deliveredCount + token.droppedCount + token.discardedCount == 200)
            #expect(token.waitingCount == 0 && !token.isActive)
        }
        #expect(tokens.map(\.droppedCount) == [0, 50, 0])
    }

    @Test func anActorAtAGoneOnesAddressHasItsOwnLane() async {
        let channel = Channel<Int>()
        for _ in 0..<200 {
            var former: Clerk? = Clerk()
            let address = ObjectIdentifier(former!)
            // Keeps the lane, not the actor.
            let token = channel.listen(former!) { (_: isolated Clerk, _) in }
            let formerLane = Lane.of(former!)
            former = nil
            let clerk = Clerk()
            guard ObjectIdentifier(clerk) == address else { continue }
            let lane = Lane.of(clerk)
            #expect(lane !== formerLane && lane.actor === clerk)
            let heard = Recorder<Int>()
            channel.listen(clerk) { (clerk: isolated Clerk, message) in
                clerk.assertIsolated()
                heard.record(message)
            }
            #expect(channel.post(1) == 1)
            #expect(await heard.wait(count: 1) == [1])
            #expect(!token.isActive)
            Lane.forget(formerLane)
            #expect(Lane.of(clerk) === lane)
            return
        }
    }

    // MARK: What is left of full buffers

    /// Unbounded and bounded listeners by turns on one queue, against a list of what was posted.
    @Test(arguments: Seed.first(40))
    func whatBoundedBuffersKeepIsHeardInPlaceOfWhatTheyDropped(seed: Seed) async {
        var random = SeededGenerator(seed: seed.number)
        let queue = DispatchQueue.suspended()
        let policies: [BufferingPolicy] = [.unbounded, .newest(1), .newest(3), .oldest(2), .oldest(1)]
        let channels = policies.map { _ in Channel<Int> { _ in } }
        let heard = Recorder<Int>()
        let tokens = policies.indices.map { index in
            channels[index].listen(on: queue, buffering: policies[index]) { heard.record($0 * 10 + index) }
        }
        var waiting: [Int] = []
        for number in 0..<Int.random(in: 1...400, using: &random) {
            let index = Int.random(in: policies.indices, using: &random)
            channels[index].post(number)
            let own = waiting.filter { $0 % 10 == index }
            switch index {
            case 1 where own.count == 1, 2 where own.count == 3:
                // Each that waits takes the place of the one before it, and the new one that of the last.
                let places = waiting.indices.filter { waiting[$0] % 10 == index }
                for (place, next) in zip(places, own.dropFirst() + [number * 10 + index]) { waiting[place] = next }
                continue
            case 3 where own.count == 2, 4 where own.count == 1: continue
            default: break
            }
            waiting.append(number * 10 + index)
        }
        #expect(tokens.map(\.waitingCount).reduce(0, +) == waiting.count)
        queue.resume()
        _ = await heard.wait(count: waiting.count)
        #expect(heard.all == waiting)
        withExtendedLifetime(tokens) {}
    }
}
