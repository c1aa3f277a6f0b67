import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// How drains end and what they count.
struct DrainEndTests {
    /// The messages behind the one being delivered have been taken out of the mailbox already when the
    /// listener is cancelled.
    @Test func cancelAndDrainEndsThoughMessagesWaitBehindTheCallItWaitsFor() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            for _ in 0..<20 {
                let channel = Channel<Int>()
                let queue = DispatchQueue.suspended()
                let slot = Slot<ListenerToken>()
                let entered = Tally()
                let token = channel.listen(on: queue) { _ in
                    entered.add()
                    while slot.value?.isActive != false { sched_yield() }
                    // Until the one that drains waits, most likely.
                    for _ in 0..<100 { sched_yield() }
                }
                slot.value = token
                for message in 0..<3 { channel.post(message) }
                queue.resume()
                await entered.wait(until: 1)
                await token.cancelAndDrain()
                #expect(entered.value == 1)
                #expect(token.discardedCount == 2)
            }
        }
    }

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
        await queue.settle()
        #expect(counts.all == [1, 2, 3])
    }
}
