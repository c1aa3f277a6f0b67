#if AsyncAlgorithms
import AsyncAlgorithms
import Channels
import ChannelsTesting
import Testing

/// The operators of a guide, compiled: `swift test --traits AsyncAlgorithms`.
@Suite(.hangLimit)
struct OperatorGuideTests {
    @Test func debouncedMessagesArePostedOnAChannel() async {
        let (typed, queries) = (Channel<String>(), Channel<String>())
        let heard = Recorder(of: queries)
        let messages = typed.messages()
        let search = Task { await messages.debounce(for: .milliseconds(1)).post(to: queries) }
        typed.post("so")
        typed.post("soup")
        #expect(await heard.wait { $0.last == "soup" }.last == "soup")
        search.cancel()
        await search.value
    }

    @Test func throttledMessagesAreRead() async {
        let moved = Channel<Int>()
        var positions = moved.messages(buffering: .newest(1))._throttle(for: .milliseconds(1)).makeAsyncIterator()
        moved.post(1)
        moved.post(2)
        #expect(await positions.next() == 2)
    }

    @Test func twoChannelsAreMerged() async {
        let (till, shop) = (Channel<Int>(), Channel<Int>())
        let sales = merge(till.messages(), shop.messages())
        till.post(1)
        shop.post(2)
        var booked: [Int] = []
        for await sale in sales {
            booked.append(sale)
            if booked.count == 2 { break }
        }
        #expect(booked.sorted() == [1, 2])
    }
}
#endif
