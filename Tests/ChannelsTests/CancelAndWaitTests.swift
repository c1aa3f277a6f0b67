import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rule 3: `cancelAndWait` waits for the call that runs, and for nothing else.
struct CancelAndWaitTests {
    /// Whoever has waited for the calls may count on that.
    @Test(arguments: [OverlappingPolicy.queue, .replace, .ignore, .concurrent(2)])
    func whatACallHeldIsReleasedBeforeTheWaitEnds(overlapping: OverlappingPolicy) async {
        for round in 0..<300 {
            let living = Tally()
            let channel = Channel<Witness>()
            var owner: Owner? = Owner()
            let weakly = Weakly(owner)
            let gate = Gate()
            let entered = Gate()
            let token = channel.listen(owner!, overlapping: overlapping) { (_, _: Witness) async in
                entered.open()
                await gate.wait()
            }
            channel.post(Witness(living))
            await entered.wait()
            owner = nil
            let waiting = Task { if round % 2 == 0 { await token.cancelAndWait() } else { await token.drain() } }
            gate.open()
            await waiting.value
            #expect(living.value == 0, "a message of \(round) lives")
            #expect(weakly.object == nil, "the owner of \(round) lives")
        }
    }

    /// The drain lets go of a message before it tells the post, whether it takes all that waits or one after the other.
    @Test(arguments: [BufferingPolicy.unbounded, .newest(4)])
    func aMessageIsReleasedBeforeThePostThatWaitsForItGoesOn(buffering: BufferingPolicy) async {
        let queue = DispatchQueue(label: "released before the post goes on")
        let channel = Channel<Witness>()
        let token = channel.listen(on: queue, buffering: buffering) { _ in }
        for round in 0..<2_000 {
            let living = Tally()
            await channel.postAndWait(Witness(living))
            #expect(living.value == 0, "the message of \(round) lives")
        }
        withExtendedLifetime(token) {}
    }

    /// A task that a call has left behind, and what follows from it, may wait for the listener as anybody
    /// else.
    @Test func aCallThatHasEndedIsWaitedForNoLonger() async {
        let first = Channel<Int>()
        let second = Channel<Int>()
        let events = Recorder<String>()
        let (inSecond, inLater, go, end, drained) = (Gate(), Gate(), Gate(), Gate(), Gate())
        let token = first.listen { (message: Int) async in
            if message == 1 {
                Task { await second.postAndWait(0) }
                // The post is under way, and knows whose call it comes from.
                await inSecond.wait()
            } else {
                inLater.open()
                await end.wait()
                events.record("ended")
            }
        }
        let other = second.listen { (_: Int) async in
            inSecond.open()
            await go.wait()
            await token.cancelAndWait()
            events.record("drained")
            drained.open()
        }
        first.post(1)
        first.post(2)
        await inLater.wait()
        go.open()
        await wait(for: token.isActive) { !$0 }
        end.open()
        await drained.wait()
        #expect(events.all == ["ended", "drained"])
        withExtendedLifetime(other) {}
    }

    @Test func cancelAndWaitWaitsForACallOnAnotherThread() async {
        let channel = Channel<Int>()
        let events = Recorder<String>()
        let entered = Tally()
        let release = DispatchSemaphore(value: 0)
        let token = channel.listen { _ in
            entered.add()
            release.wait()
            events.record("the call ended")
        }
        async let posting: Void = onThreads(1) { _ in channel.post(1) }
        await entered.wait(until: 1)
        async let draining: Void = {
            await token.cancelAndWait()
            events.record("drained")
        }()
        await wait(for: token.isActive) { !$0 }
        events.record("cancelled")
        release.signal()
        await draining
        await posting
        #expect(events.all == ["cancelled", "the call ended", "drained"])
    }

    @Test func severalTasksOneOfThemCancelledMayDrainOneListener() async {
        let channel = Channel<Int>()
        let events = Recorder<String>()
        let (entered, gate) = (Gate(), Gate())
        let token = channel.listen { (_: Int) async in
            entered.open()
            await gate.wait()
            events.record("the call ended")
        }
        channel.post(1)
        channel.post(2)
        await entered.wait()
        let draining = (0..<3).map { _ in
            Task {
                await token.cancelAndWait()
                events.record("drained")
            }
        }
        draining[0].cancel()
        await wait(for: token.isActive) { !$0 }
        gate.open()
        for task in draining { await task.value }
        #expect(events.all == ["the call ended", "drained", "drained", "drained"])
        #expect(token.deliveredCount == 1)
        #expect(token.discardedCount == 1)
    }

    @Test func afterCancelAndWaitNoneRunsAndNoneWillBegin() async {
        let channel = Channel<Int>()
        await whilePosting(on: channel, threads: 2) {
            for _ in 0..<100 {
                let running = Tally()
                let calls = Tally()
                let token = channel.listen { _ in
                    running.add()
                    calls.add()
                    running.add(-1)
                }
                await wait(for: calls.value) { $0 > 0 }
                await token.cancelAndWait()
                let count = calls.value
                #expect(running.value == 0)
                await Task.yield()
                #expect(calls.value == count)
            }
        }
    }

    @Test func endlessPostingDoesNotKeepCancelAndWaitWaiting() async {
        let channel = Channel<Int>()
        let tokens = (0..<50).map { _ in channel.listen { _ in } }
        await whilePosting(on: channel, threads: 3) {
            for token in tokens { await token.cancelAndWait() }
            #expect(channel.isEmpty)
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func cancelAndWaitInATaskOfTheListenerReturnsAtOnce() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let own = Slot<ListenerToken>()
            own.value = channel.listen { (_: Int) async in
                // The listener waits for a task that inherits its place.
                await Task { await own.value?.cancelAndWait() }.value
            }
            let report = await channel.postAndWait(1)
            #expect(report.completedCount == 1)
        }
    }

    @Test func cancelAndWaitOfWhoWaitsForTheCallerReturnsAtOnce() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let first = Channel<Int>()
            let second = Channel<Int>()
            let ended = Tally()
            let waiting = Slot<ListenerToken>()
            waiting.value = first.listen { (message: Int) async in
                await second.postAndWait(message)
                ended.add()
            }
            let draining = second.listen { (_: Int) async in
                await waiting.value?.cancelAndWait()
                ended.add()
            }
            first.post(1)
            await ended.wait(until: 2)
            withExtendedLifetime(draining) {}
        }
    }
    #endif

    @Test func cancelAndWaitOfAnotherListenerInsideAListenerWaitsForIt() async {
        let channel = Channel<Int>()
        let events = Recorder<String>()
        let entered = Tally()
        let gate = Gate()
        let other = channel.listen { (_: Int) async in
            entered.add()
            await gate.wait()
            events.record("other ended")
        }
        let draining = channel.listen { (_: Int) async in
            await entered.wait(until: 1)
            async let drained: Void = other.cancelAndWait()
            await wait(for: other.isActive) { !$0 }
            gate.open()
            await drained
            events.record("drained")
        }
        await channel.postAndWait(1)
        #expect(events.all == ["other ended", "drained"])
        withExtendedLifetime(draining) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func anAsyncListenersClosureIsFreedThoughDrainedDuringItsCall() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let living = Tally()
            for _ in 0..<20 {
                let channel = Channel<Int>()
                let (entered, gate) = (Gate(), Gate())
                let token = channel.listen { [witness = Witness(living)] (_: Int) async in
                    entered.open()
                    await gate.wait()
                    withExtendedLifetime(witness) {}
                }
                channel.post(1)
                await entered.wait()
                async let draining: Void = token.cancelAndWait()
                await wait(for: token.isActive) { !$0 }
                // Until the one that drains waits, most likely.
                for _ in 0..<100 { await Task.yield() }
                gate.open()
                await draining
                await living.wait(untilAtMost: 0)
                withExtendedLifetime(token) {}
            }
        }
    }
    #endif

    // MARK: How drains end and what they count

    @Test(arguments: [BufferingPolicy.unbounded, .oldest(8), .newest(8)])
    func aMessageCountsAsDeliveredWhenItsCallBegins(policy: BufferingPolicy) async {
        let channel = Channel<Int>()
        let queue = DispatchQueue.suspended()
        let slot = Slot<ListenerToken>()
        let counts = Recorder<Int>()
        let token = channel.listen(on: queue, buffering: policy) { _ in counts.record(slot.value?.deliveredCount ?? -1)
        }
        slot.value = token
        for message in 0..<3 { channel.post(message) }
        queue.resume()
        #expect(await counts.wait(count: 3) == [1, 2, 3])
    }
}

private final class Weakly: @unchecked Sendable {  // a constant but for the runtime
    private(set) weak var object: AnyObject?
    init(_ object: AnyObject?) { self.object = object }
}
