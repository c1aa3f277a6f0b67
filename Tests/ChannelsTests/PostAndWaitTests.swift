import ChannelsTesting
import Dispatch
import Testing

@testable import Channels

/// `postAndWait`: whom it waits for, and whom not.
struct PostAndWaitTests {
    @Test func itReturnsAfterEveryListenerHasFinished() async {
        let channel = Channel<Int>()
        let finished = Tally()
        let tokens = [
            channel.listen { _ in finished.add() },
            channel.listen { (_: Int) async in
                for _ in 0..<10 { await Task.yield() }
                finished.add()
            },
            channel.listen(on: .global()) { _ in finished.add() },
            channel.listen { @MainActor _ in finished.add() },
        ]
        let report = await channel.postAndWait(1)
        #expect(finished.value == 4)
        #expect(report.reachedCount == 4 && report.completedCount == 4 && report.isComplete)
        withExtendedLifetime(tokens) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// A bridge hands in what is released with the end of the post.
    @Test func aPostThatAListenerKeepsKeepsNothingOfItsPosting() async throws {
        final class Resource: Sendable {}
        let channel = Channel<Int>()
        let kept = Recorder<Posted<Int>>()
        let tokens = [
            channel.posts.listen { post in kept.record(post) },
            channel.posts.listen { post in
                await Task.yield()
                kept.record(post)
            },
        ]
        weak var released: Resource?
        do {
            let resource = Resource()
            released = resource
            channel.post(1, from: MessageOrigin.remote("till")) { withExtendedLifetime(resource) {} }
        }
        let posts = await kept.wait(count: 2)
        #expect(posts.allSatisfy { $0.origin == .remote("till") })
        #expect(released == nil)
        withExtendedLifetime(tokens) {}
    }

    @Test func whatWaitsWhenAnAsyncListenersOwnerGoesIsNotWaitedFor() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let gate = Gate()
            var owner: Owner? = Owner()
            let token = channel.listen(owner!) { (_, _) async in await gate.wait() }
            let passed = Recorder<Int>()
            let last = channel.listen { passed.record($0) }
            channel.post(1)
            async let report = channel.postAndWait(2)
            await wait(for: [token.deliveredCount, token.waitingCount]) { $0 == [1, 1] }
            // The post has let go of the owner, which it holds while it enqueues the message.
            await passed.wait(count: 2)
            owner = nil
            gate.open()
            let discarded = await report.discardedCount
            #expect(discarded == 1 && token.deliveredCount == 1 && owner == nil)
            withExtendedLifetime(last) {}
        }
    }
    #endif

    @Test func itDoesNotReportTheErrorOfAMessageBefore() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int> { _ in }
        let token = channel.listen(on: queue) { message in if message % 2 == 1 { throw Trouble() } }
        channel.post(1)
        async let second = channel.postAndWait(2)
        await wait(for: token.waitingCount) { $0 >= 2 }
        channel.post(3)
        async let fourth = channel.postAndWait(4)
        await wait(for: token.waitingCount) { $0 >= 4 }
        queue.resume()
        let (two, four) = await (second, fourth)
        #expect(two.isComplete && two.failures.isEmpty && four.isComplete && four.failures.isEmpty)
    }

    /// The drain may come across the listener when it has been cancelled and what waits not been discarded yet.
    @Test(arguments: [BufferingPolicy.unbounded, .newest(100), .oldest(100)])
    func itEndsThoughTheListenerIsCancelledWhileMessagesWait(buffering: BufferingPolicy) async {
        let queue = DispatchQueue(label: "cancelled while messages wait")
        for round in 0..<1_000 {
            let channel = Channel<Owner>()
            weak var message: Owner?
            let token = channel.listen(on: queue, buffering: buffering) { _ in }
            await withTaskGroup { group in
                for _ in 0..<3 {
                    let sent = Owner()
                    message = sent
                    group.addTask { _ = await channel.postAndWait(sent) }
                }
                for _ in 0..<(round % 7) { await Task.yield() }
                token.cancel()
            }
            await token.cancelAndWait()
            #expect(message == nil, "what was discarded is kept")
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func insideAListenerItDoesNotWaitForThatListener() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let heard = Recorder<Int>()
            let gate = Gate()
            let token = channel.listen { (message: Int) async in
                heard.record(message)
                if message == 1 {
                    let report = await channel.postAndWait(2)
                    // It has not finished, so it is not counted as if it had.
                    #expect(report.reachedCount == 1 && report.unfinishedCount == 1 && !report.isComplete)
                } else {
                    gate.open()
                }
            }
            await channel.postAndWait(1)
            await gate.wait()
            #expect(heard.all == [1, 2])
            withExtendedLifetime(token) {}
        }
    }

    @Test(arguments: [false, true])
    func aCircleOfListenersThatWaitForOneAnotherDoesNotHang(beginsWithWait: Bool) async {
        await #expect(processExitsWith: .success) { [beginsWithWait] in
            endIfItHangs()
            let ring = (0..<4).map { _ in Channel<Int>() }
            let gate = Gate()
            let tokens = ring.indices.map { index in
                ring[index].listen { (message: Int) async in
                    guard message < 9 else { return gate.open() }
                    await ring[(index + 1) % ring.count].postAndWait(message + 1)
                }
            }
            if beginsWithWait { await ring[0].postAndWait(0) } else { ring[0].post(0) }
            await gate.wait()
            withExtendedLifetime(tokens) {}
        }
    }
    #endif

    /// A message with nothing to release, too.
    @Test func aMessageReplacedInABufferIsWaitedForNoLonger() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>()
        let token = channel.listen(on: queue, buffering: .newest(1)) { _ in }
        let waiting = Task { await channel.postAndWait(1) }
        await wait(for: token.waitingCount) { $0 > 0 }
        channel.post(2)
        #expect(await waiting.value.droppedCount == 1)
        queue.resume()
        await token.cancelAndWait()
    }

    /// What waits for nobody who posts is waited for.
    @Test func listenersThatWaitElsewhereAreWaitedForInsideAListener() async {
        let (outer, inner, other) = (Channel<Int>(), Channel<Int>(), Channel<Int>())
        let order = Recorder<String>()
        let gate = Gate()
        let tokens = [
            other.listen { (_: Int) async in await gate.wait() },
            inner.listen { (_: Int) async in
                await other.postAndWait(1)
                order.record("inner")
            },
            outer.listen { (_: Int) async in
                await inner.postAndWait(1)
                order.record("outer")
            },
        ]
        inner.post(0)
        let task = Task { await outer.postAndWait(0) }
        gate.open()
        _ = await task.value
        #expect(order.all == ["inner", "inner", "outer"])
        withExtendedLifetime(tokens) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aCircleThroughATaskOrSynchronousListenerDoesNotHang() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let first = Channel<Int>()
            let second = Channel<Int>()
            let gate = Gate()
            let tokens = [
                first.listen { (message: Int) async in
                    guard message == 0 else { return }
                    await Task { _ = await second.postAndWait(1) }.value
                },
                second.listen { (message: Int) async in
                    await first.postAndWait(message)
                    gate.open()
                },
            ]
            await first.postAndWait(0)
            await gate.wait()
            withExtendedLifetime(tokens) {}
        }
    }
    #endif

    @Test func aSequenceHasFinishedWhenTheMessageIsInItsBuffer() async {
        let channel = Channel<Int>()
        let messages = channel.messages()
        let report = await channel.postAndWait(1)
        #expect(report.reachedCount == 1 && report.completedCount == 1)
        #expect(messages.waitingCount == 1)
    }

    /// A message may find that its listener has just been cancelled.
    @Test func itsReportAddsUpWhileListenersComeAndGo() async {
        let channel = Channel<Int>()
        let calls = Tally()
        let stays = channel.listen { (_: Int) async in calls.add() }
        await withTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    for message in 0..<200 {
                        let passing = channel.listen { (_: Int) async in }
                        let report = await channel.postAndWait(message)
                        #expect(
                            report.reachedCount == report.completedCount + report.discardedCount + report.droppedCount
                                + report.failures.count
                        )
                        passing.cancel()
                    }
                }
            }
        }
        #expect(calls.value == 600)
        withExtendedLifetime(stays) {}
    }

    /// The owner goes after ten of a hundred messages, when the drain has taken them all out of the queue.
    @Test func itEndsForMessagesTakenWhenTheOwnerWent() async {
        let channel = Channel<Int>()
        let queue = DispatchQueue(label: "held")
        queue.suspend()
        let owner = Slot(Owner())
        let calls = Tally()
        let token = channel.listen(owner.value!, on: queue) { _, _ in
            if calls.add() == 9 { owner.value = nil }
        }
        await withTaskGroup(of: DeliveryReport.self) { group in
            for message in 0..<100 { group.addTask { await channel.postAndWait(message) } }
            await wait(for: token.waitingCount) { $0 >= 100 }
            queue.resume()
            for await report in group { #expect(report.completedCount + report.discardedCount == 1) }
        }
        #expect(token.deliveredCount + token.discardedCount == 100)
        #expect(calls.value < 100)
    }
}
