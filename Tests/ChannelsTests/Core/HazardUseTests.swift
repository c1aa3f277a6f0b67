import ChannelsTesting
import Dispatch
import Synchronization
import Testing

@testable import Channels

struct HazardUseTests {
    /// A thread that posts again uses the same slot: its earlier post has ended nevertheless.
    @Test func aPostHasEndedThoughItsThreadPostsAgain() {
        let channel = Channel<Int>()
        let list = channel.list
        let known = Slot<[HazardUse]>()
        let ended = Recorder<[Bool]>()
        let token = channel.listen { message in
            if message == 1 { known.value = list.uses() }
            ended.record((known.value ?? []).map { use in use.hasEnded { $0 == list.address } })
        }
        channel.post(1)
        #expect(known.value?.map { use in use.hasEnded { $0 == list.address } } == [true])
        channel.post(2)
        #expect(ended.all == [[false], [true]])
        #expect(list.uses().isEmpty)
        withExtendedLifetime(token) {}
    }

    /// Looking for what to free makes the end of a post dearer.
    @Test func postsLookForNothingWhenTheLastCancelledListenerIsFreed() async {
        let channel = Channel<Int>()
        let list = channel.list
        let (entered, release) = (Tally(), DispatchSemaphore(value: 0))
        let token = channel.listen { message in
            guard message == 0 else { return }
            entered.add()
            release.wait()
        }
        for _ in 0..<2 {
            async let posting: Void = onThreads(1) { _ in channel.post(0) }
            await entered.wait(until: 1)
            channel.listen { _ in }.cancel()
            let looks = list.hasRetired.load(ordering: .relaxed)
            #expect(looks)
            release.signal()
            await posting
            entered.set(0)
            for _ in 0..<100 { channel.post(1) }
            let stillLooks = list.hasRetired.load(ordering: .relaxed)
            #expect(!stillLooks)
        }
        withExtendedLifetime(token) {}
    }

    /// However large its stack is.
    @Test func aNestedPostIsRefusedWhereTheThreadHasNoSlotsLeft() async {
        let faults = Recorder<Fault>()
        let (outer, inner) = (Channel<Int>(), Channel<Int> { faults.record($0) })
        let heard = Recorder<Int>()
        let tokens = [
            outer.listen { heard.record(inner.post($0)) },
            inner.listen { heard.record($0) },
        ]
        await onThreads(1) { _ in
            let thread = ThreadReference.current
            let used = thread.pointee.slotsInUse
            // As if so many posts were under way.
            thread.pointee.slotsInUse = ThreadRecord.slotCount - 65
            outer.post(1)
            thread.pointee.slotsInUse -= 1
            outer.post(2)
            thread.pointee.slotsInUse = used
        }
        #expect(heard.all == [0, 2, 1])
        let detail = "too many posts are nested on the thread, or too little of its stack is left"
        #expect(faults.all.map(\.detail) == [detail])
        withExtendedLifetime(tokens) {}
    }
}
