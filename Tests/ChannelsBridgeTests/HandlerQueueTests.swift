import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// How an in-memory broker calls its subscribers.
@Suite(.hangLimit)
struct HandlerQueueTests {
    /// A handler that publishes is not called within its own call.
    @Test func handlerIsCalledForOneItemAtATimeAndInOrder() {
        let calls = Recorder<String>()
        let own = Reference()
        let queue = HandlerQueue<Int> { item in
            calls.record("begin \(item)")
            if item < 3 {
                own.queue?.enqueue(item + 1)
                own.queue?.deliver()
            }
            calls.record("end \(item)")
        }
        own.queue = queue
        queue.enqueue(1)
        #expect(calls.count == 0)
        queue.deliver()
        #expect(calls.all == (1...3).flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test func whoWaitsForTheEndDeliversWhatNobodyHas() async {
        let calls = Recorder<Int>()
        let queue = HandlerQueue<Int> { calls.record($0) }
        for number in 1...3 { queue.enqueue(number) }
        await queue.finish()
        #expect(calls.all == [1, 2, 3])
    }

    @Test func nothingIsDeliveredAfterItHasClosedNotEvenOfABatch() async {
        let calls = Recorder<Int>()
        let own = Reference()
        let closing = Recorder<Task<Void, Never>>()
        let queue = HandlerQueue<Int> { item in
            calls.record(item)
            if item == 1, let queue = own.queue { closing.record(Task.detached { await queue.close() }) }
        }
        own.queue = queue
        for item in 1...1_000 { queue.enqueue(item) }
        queue.deliver()
        for task in closing.all { await task.value }
        let heard = calls.count
        queue.enqueue(-1)
        queue.deliver()
        #expect(calls.all == Array(1...heard))
        await queue.close()
    }

    private final class Reference: @unchecked Sendable {  // written once, before the queue delivers
        var queue: HandlerQueue<Int>?
    }
}
