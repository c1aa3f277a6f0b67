import ChannelsTesting
import Dispatch
import Synchronization
import Testing

@testable import Channels

/// What a turn of a lane leaves behind: for the next turn, and for those who cancel meanwhile.
struct LaneTurnTests {
    @Test func whatComesInDuringATurnIsDeliveredInTheSameJob() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        channel.listen(actor) { _, message in
            heard.record(message)
            if message < 3 { postFromElsewhere(message + 1, on: channel) }
        }
        channel.post(1)
        await executor.run()
        #expect(heard.all == [1, 2, 3] || executor.count(longerThan: .milliseconds(1)) == 1)
        withExtendedLifetime(actor) {}
    }

    /// The drain gathers fewer messages than the smallest buffer holds, as long as there is that buffer.
    @Test func aBoundedListenerThatHasGoneLeavesItsLaneAsItWas() {
        let (queue, channel) = (DispatchQueue(label: "bounded"), Channel<Int>())
        let lane = Lane.of(queue)
        func smallest() -> Int { lane.smallestBuffer.load(ordering: .relaxed) }
        let wide = channel.listen(on: queue, buffering: .newest(100)) { _ in }
        let narrow = (0..<2).map { _ in channel.listen(on: queue, buffering: .oldest(2)) { _ in } }
        #expect(smallest() == 2)
        narrow[0].cancel()
        #expect(smallest() == 2)
        narrow[1].cancel()
        #expect(smallest() == 100)
        wide.cancel()
        #expect(smallest() == .max)
        channel.finish()
        // One that the channel does not take any more.
        let late = channel.listen(on: queue, buffering: .newest(1)) { _ in }
        #expect(smallest() == .max)
        withExtendedLifetime((wide, narrow, late)) {}
    }

    /// Those who cancel leave to the drain what it has taken in the turn that is under way.
    @Test func whatWasTakenIsReleasedWhenAnotherCancelsInTheSameTurn() async {
        let (channel, other, living) = (Channel<Witness>(), Channel<Int>(), Tally())
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        let token = channel.listen(actor) { _, _ in }
        let heard = Tally()
        other.listen(actor) { _, _ in
            token.cancel()
            heard.add()
        }
        // The first turn ends with the other's call; the drain has no tickets of the first any more, but messages.
        for number in 0..<63 { channel.post(Witness(living, number)) }
        other.post(0)
        for number in 0..<137 { channel.post(Witness(living, number)) }
        other.post(1)
        await executor.run { heard.value == 2 }
        // The job that has called the other one ends.
        await executor.run { living.value == 0 }
        #expect(token.deliveredCount == 63 && token.discardedCount == 137)
        withExtendedLifetime((actor, token)) {}
    }

    /// Which is when the turn ends.
    @Test func anAsyncListenersClosureIsFreedThoughCancelledInItsLastCall() async {
        let (channel, living) = (Channel<Int>(), Tally())
        let (entered, leave) = (Gate(), Gate())
        func listen(_ witness: Witness) -> ListenerToken {
            channel.listen { number in
                withExtendedLifetime(witness) {}
                guard number == 64 else { return }
                entered.open()
                await leave.wait()
            }
        }
        let token = listen(Witness(living))
        for number in 1...64 { channel.post(number) }
        await entered.wait()
        token.cancel()
        leave.open()
        await living.wait(untilAtMost: 0)
        #expect(token.deliveredCount == 64)
    }

    @Test func aMessageThatReplacesAnotherInABufferTakesOverItsTicket() {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>()
        let token = channel.listen(on: queue, buffering: .newest(1)) { _ in }
        for number in 0..<10_000 { channel.post(number) }
        let lane = Lane.of(queue)
        #expect(lane.lock.withLock { lane.state.count } == 1)
        #expect(token.waitingCount == 1)
        queue.resume()
    }

    /// While the drain waits for many messages to come, a buffer that holds fewer would overflow.
    @Test func theDrainWaitsForFewerMessagesThanTheSmallestBufferHolds() {
        let queue = DispatchQueue(label: "small buffers")
        let channel = Channel<Int>()
        let tokens = [.unbounded, .newest(64), .oldest(16), .oldest(32)].map { buffering in
            channel.listen(on: queue, buffering: buffering) { _ in }
        }
        #expect(Lane.of(queue).smallestBuffer.load(ordering: .relaxed) == 16)
        withExtendedLifetime(tokens) {}
    }

    /// What a cancelled listener held is released when the lane has gone idle, and on a concurrent queue its next
    /// drain begins meanwhile.
    @Test func aDrainThatStillReleasesDoesNotDisturbTheNext() async {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let (channel, next) = (Channel<Int>(), Channel<Int>())
        let (isReleasing, proceed) = (Gate(), DispatchSemaphore(value: 0))
        let slot = Slot<ListenerToken>()
        func listen(_ owner: Owner) -> ListenerToken {
            channel.listen(on: queue) { _ in
                withExtendedLifetime(owner) {}
                slot.value?.cancel()
                slot.value = nil
                // The turn ends by time.
                let start = ContinuousClock.now
                while .now - start < .milliseconds(3) {}
            }
        }
        slot.value = listen(
            Owner {
                isReleasing.open()
                proceed.wait()
            }
        )
        let (running, overlaps, heard) = (Tally(), Tally(), Recorder<Int>())
        let token = next.listen(on: queue) { message in
            if running.add() > 0 { overlaps.add() }
            heard.record(message)
            running.add(-1)
        }
        channel.post(0)
        await isReleasing.wait()
        for number in 0..<100 { next.post(number) }
        #expect(await heard.first(100) == Array(0..<100))
        proceed.signal()
        for number in 100..<1_000 { next.post(number) }
        #expect(await heard.first(1_000) == Array(0..<1_000) && overlaps.value == 0)
        withExtendedLifetime(token) {}
    }

    /// Although the lane settles what it has called when its turn ends.
    @Test func aListenerCalledInTheTurnHearsItsActorsPostAtOnce() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        first.listen(actor) { _, message in heard.record(message) }
        second.listen(actor) { actor, message in
            first.post(message + 1, isolation: actor)
            heard.record(message + 2)
        }
        first.post(1)
        second.post(2)
        await executor.run { heard.count == 3 }
        #expect(heard.all == [1, 3, 4])
        withExtendedLifetime(actor) {}
    }

    /// Whoever waits for the call before is told between the two, in the middle of a turn.
    @Test func drainingAListenerWaitsForItsCallThoughAnotherWasAwaitedBefore() async throws {
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
        let first = Task { await tokens[0].cancelAndWait() }
        await wait(for: lane.isAwaited) { $0 }
        gates[0].signal()
        await first.value
        await entered.wait(until: 2)
        let hasDrained = Gate()
        let second = Task {
            await tokens[1].cancelAndWait()
            hasDrained.open()
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(!hasDrained.isOpen)
        gates[1].signal()
        await second.value
    }
}
