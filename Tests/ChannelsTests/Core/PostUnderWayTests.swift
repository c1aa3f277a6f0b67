import ChannelsTesting
import Testing

@testable import Channels

struct PostUnderWayTests {
    /// A thread that posts again uses the same slot: its earlier post has ended nevertheless.
    @Test func aPostHasEndedThoughItsThreadPostsAgain() {
        let channel = Channel<Int>()
        let list = channel.list
        let known = Slot<[PostUnderWay]>()
        let ended = Recorder<[Bool]>()
        let token = channel.listen { message in
            if message == 1 { known.value = PostUnderWay.posts(on: list) }
            ended.record((known.value ?? []).map { $0.hasEnded(on: list.address) })
        }
        channel.post(1)
        #expect(known.value?.map { $0.hasEnded(on: list.address) } == [true])
        channel.post(2)
        #expect(ended.all == [[false], [true]])
        #expect(PostUnderWay.posts(on: list).isEmpty && !PostUnderWay.hasPosts(on: list))
        withExtendedLifetime(token) {}
    }
}
