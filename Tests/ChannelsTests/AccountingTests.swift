import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Rule 8: nothing is lost in silence.
struct AccountingTests {
    @Test(arguments: [BufferingPolicy.unbounded, .oldest(2), .newest(2), .newest(64)])
    func theCountsAreExactWhenThreadsPostAndOneCancels(policy: BufferingPolicy) async {
        for _ in 0..<10 {
            let channel = Channel<Int> { _ in }
            let clerk = Clerk()
            let calls = Tally()
            let accepted = Tally()
            let token = channel.listen(clerk, buffering: policy) { (_: isolated Clerk, _) in calls.add() }
            await onThreads(3) { index in
                for message in 0..<200 {
                    if index == 2, message == 100 { token.cancel() }
                    accepted.add(channel.post(message))
                }
            }
            await token.cancelAndWait()
            #expect(token.waitingCount == 0)
            #expect(token.deliveredCount == calls.value)
            #expect(token.deliveredCount + token.droppedCount + token.discardedCount == accepted.value)
            withExtendedLifetime(clerk) {}
        }
    }

    /// A listener with a mailbox counts what was called at once, too.
    @MainActor @Test func directCallsOfAListenerOfThePostersActorAreCounted() {
        let channel = Channel<Int>()
        let token = channel.listen { @MainActor _ in }
        for message in 0..<3 { channel.post(message) }
        #expect(token.deliveredCount == 3)
        #expect(token.waitingCount == 0)
    }

    @Test func onceWithAMailboxIsInactiveFromEnqueueingOnAndCancelDiscards() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let called = channel.listen(on: queue, once: true) { heard.record("called \($0)") }
        let cancelled = channel.listen(on: queue, once: true) { heard.record("cancelled \($0)") }
        #expect(channel.post(1) == 2)
        #expect(!called.isActive && !cancelled.isActive)
        #expect(channel.post(2) == 0)
        cancelled.cancel()
        #expect(cancelled.discardedCount == 1)
        queue.resume()
        _ = await heard.wait(count: 1)
        await queue.settle()
        #expect(heard.all == ["called 1"])
        #expect(called.deliveredCount == 1)
    }

    @Test func droppedAndDiscardedMessagesEndTheWaitOfPostAndWait() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int> { _ in }
        let full = channel.listen(on: queue, buffering: .oldest(1)) { _ in }
        let cancelled = channel.listen(on: queue) { _ in }
        let throwing = channel.listen { (_: Int) throws in throw Trouble() }
        channel.post(0)
        async let waiting = channel.postAndWait(1)
        await wait(for: cancelled.waitingCount) { $0 >= 2 }
        cancelled.cancel()
        let report = await waiting
        #expect(report.reachedCount == 3)
        #expect(report.completedCount == 0)
        #expect(report.droppedCount == 1)
        #expect(report.discardedCount == 1)
        #expect(report.failures.map { $0.error as? Trouble } == [Trouble()])
        queue.resume()
        withExtendedLifetime((full, throwing)) {}
    }

    /// The first call is under way, and the second has not begun, when the listener ends.
    @Test(arguments: [OverlappingPolicy.concurrent(2), .concurrent(8)])
    func aMessageIsDiscardedIfItsListenerIsCancelledBeforeItsCallBegins(overlapping: OverlappingPolicy) async {
        let channel = Channel<Int>()
        let calls = Tally()
        let token = await twoPosts(on: channel, overlapping, calls)
        await wait(for: calls.value) { $0 >= 1 }
        await token.cancelAndWait()
        #expect(calls.value == 1)
        #expect(token.deliveredCount == 1)
        #expect(token.discardedCount == 1)
        #expect(token.waitingCount == 0)
    }

    /// Both messages wait before the first call: it begins when the main actor is free again.
    @MainActor
    private func twoPosts(on channel: Channel<Int>, _ overlapping: OverlappingPolicy, _ calls: Tally) -> ListenerToken {
        let token = channel.listen(overlapping: overlapping) { @MainActor (_: Int) async in
            calls.add()
            ListenerToken.current?.cancel()
        }
        for number in 0..<2 { channel.post(number) }
        return token
    }
}
