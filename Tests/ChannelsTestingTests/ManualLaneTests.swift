import Channels
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct ManualLaneTests {
    @Test func nothingIsHeardUntilTheLaneDelivers() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let lane = ManualLane()
        lane.hold(sold)
        for total in 1...3 { #expect(sold.post(total) == 0) }
        #expect(heard.all == [] && lane.waitingCount == 3)
        #expect(await lane.deliver(2) == 2)
        #expect(heard.all == [1, 2] && lane.waitingCount == 1)
        #expect(await lane.deliver() == 1)
        #expect(heard.all == [1, 2, 3])
        #expect(await lane.deliver(1) == 0)
    }

    @Test func deliverReturnsWhenListenersOnActorsAndAsyncOnesHaveFinished() async {
        let sold = Channel<Sale>()
        let kitchen = Kitchen(sold)
        let archived = Recorder<Int>()
        let token = sold.listen { sale in
            await Task.yield()
            archived.record(sale.total)
        }
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(Sale(total: 1))
        await lane.deliver(1)
        #expect(await kitchen.cooked == [1])
        #expect(archived.all == [1])
        withExtendedLifetime(token) {}
    }

    @MainActor
    @Test func listenersOnTheMainActorAreHeldToo() async {
        let sold = Channel<Int>()
        let owner = Owner()
        var shown: [Int] = []
        sold.listen(owner) { _, total in shown.append(total) }
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(1)
        #expect(shown == [])
        await lane.deliver()
        #expect(shown == [1])
        withExtendedLifetime(owner) {}
    }

    @Test func theMessagesOfSeveralChannelsWaitInTheOrderPosted() async {
        let numbers = Channel<Int>()
        let texts = Channel<String>()
        let heard = Recorder<String>()
        let tokens = [numbers.listen { heard.record("\($0)") }, texts.listen { heard.record($0) }]
        let lane = ManualLane()
        lane.hold(numbers)
        lane.hold(texts)
        numbers.post(1)
        texts.post("a")
        numbers.post(2)
        await lane.deliver(2)
        #expect(heard.all == ["1", "a"])
        await lane.deliver()
        #expect(heard.all == ["1", "a", "2"])
        withExtendedLifetime(tokens) {}
    }

    @Test func aMessageKeepsItsSenderAndIsNotEchoed() async {
        let sold = Channel<Int>()
        let poster = Owner()
        let own = Recorder<Int>()
        sold.listen(poster) { _, total in own.record(total) }
        let others = Recorder(of: sold.posts)
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(1, from: poster, echo: false)
        sold.post(2, from: poster)
        await lane.deliver()
        #expect(own.all == [2])
        #expect(others.all.map(\.message) == [1, 2])
        #expect(others.all.allSatisfy { $0.sender === poster })
    }

    @Test func whatAListenerPostsDuringADeliveryWaitsToo() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let token = sold.listen { [weak sold] total in if total < 3 { sold?.post(total + 1) } }
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(1)
        #expect(await lane.deliver() == 1)
        #expect(heard.all == [1] && lane.waitingCount == 1)
        #expect(await lane.deliver(5) == 2)
        #expect(heard.all == [1, 2, 3])
        withExtendedLifetime(token) {}
    }

    @Test func whatAnAsyncListenerPostsDuringADeliveryWaitsToo() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let token = sold.listen { [weak sold] total in
            await Task.yield()
            if total < 2 { sold?.post(total + 1) }
        }
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(1)
        await lane.deliver(1)
        #expect(heard.all == [1] && lane.waitingCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test func aListenerCancelledWhileAMessageWaitsDoesNotHearIt() async {
        let sold = Channel<Int>()
        let heard = Recorder<Int>()
        let token = sold.listen { total in heard.record(total) }
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(1)
        token.cancel()
        await lane.deliver()
        #expect(heard.all == [])
    }

    @Test func interceptorsSeeAMessageOnceWhenItIsDelivered() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let seen = Recorder<Int>()
        let token = sold.intercept(priority: ListenerPriority(.max)) { post in
            seen.record(post.message)
            return .replace(post.message * 10)
        }
        let lane = ManualLane()
        // Registered after an interceptor of the same priority: that one sees the message twice.
        lane.hold(sold)
        let later = sold.intercept(priority: .high) { post in
            seen.record(-post.message)
            return .continue
        }
        sold.post(1)
        #expect(seen.all == [1])
        await lane.deliver()
        #expect(heard.all == [100] && seen.all == [1, 10, -100])
        withExtendedLifetime((token, later)) {}
    }

    @Test func aNamedChannelIsHeldWhateverListensAndWhenever() async {
        let board = Switchboard()
        let sold = ChannelName<Int>("shop.sold")
        let lane = ManualLane()
        lane.hold(board[sold])
        board[sold].post(1)
        #expect(lane.waitingCount == 1)
        let heard = Recorder(of: board[sold])
        let matching = Recorder(of: board[matching: "shop.*"])
        board[sold].post(2)
        #expect(heard.count == 0 && matching.count == 0)
        await lane.deliver()
        #expect(heard.all == [1, 2] && matching.count == 2)
    }

    @Test func aChannelHeldTwiceIsDeliveredOnce() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let first = ManualLane()
        let second = ManualLane()
        for lane in [first, first, second] { lane.hold(sold) }
        sold.post(1)
        #expect(first.waitingCount == 1 && second.waitingCount == 0)
        #expect(await first.deliver() == 1)
        #expect(heard.all == [1] && first.waitingCount == 0 && second.waitingCount == 0)
    }

    @Test func aLaneThatIsReleasedLetsMessagesPass() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        do {
            let lane = ManualLane()
            lane.hold(sold)
            sold.post(1)
        }
        sold.post(2)
        #expect(heard.all == [2])
    }

    @Test func whatOtherThreadsPostDuringADeliveryWaits() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let lane = ManualLane()
        lane.hold(sold)
        for total in 1...100 { sold.post(total) }
        await withTaskGroup { group in
            group.addTask { for total in 101...200 { sold.post(total) } }
            group.addTask { #expect(await lane.deliver(100) == 100) }
        }
        #expect(heard.count == 100 && lane.waitingCount == 100)
        await lane.deliver()
        #expect(heard.all.sorted() == Array(1...200))
    }
}
