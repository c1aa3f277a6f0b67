import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// How much a durable route fetches.
@Suite(.hangLimit)
struct RoomTests {
    private let broker = InMemoryBroker()

    @Test func durableRouteFetchesNoMoreThanItHasRoomFor() async throws {
        let sender = try await connectedTransport(broker)
        let gate = Gate()
        let fetched = Recorder<Int>()
        var counting = AlteredTransport(broker)
        counting.receives = {
            fetched.record($0.deliveryCount)
            return [$0]
        }
        let configuration = BridgeConfiguration.quick.with { $0.buffer.messages = 16 }
        let kitchen = await MiniProcess(
            "kitchen",
            counting,
            [.incoming(.sold, durable: true).retryingUndecodable(atMost: 0)],
            configuration: configuration,
            holdingDeadLetters: gate
        )
        let (heard, token) = kitchen.recorder(.sold)
        try await sender.publish(try .event("no JSON", to: "shop.sold", id: "bad"), durable: true)
        _ = await kitchen.deadLetters.first(1)
        for total in 0..<6 {
            try await sender.publish(
                try .event(#"{"total":\#(total)}"#, to: "shop.sold", id: "\(total)"),
                durable: true
            )
        }
        // The bad one, which is not settled yet, and one more.
        #expect(fetched.count == 2)
        gate.open()
        #expect(await heard.first(6).map(\.total) == [0, 1, 2, 3, 4, 5])
        try await kitchen.stop()
        #expect(fetched.all == Array(repeating: 1, count: 7))
        #expect(kitchen.bridge.statistics.retried == 0 && kitchen.bridge.statistics.overflowed == 0)
        withExtendedLifetime(token) {}
    }

    @Test func durableRouteFetchesBytesItHasRoomForOrOneLargeMessage() async throws {
        let sender = try await connectedTransport(broker)
        let fetched = Recorder<InboundMessage>()
        try await sender.subscribe(
            TransportSubscription(to: "shop.sold", durableName: "kitchen", prefetchByteLimit: 1_000)
        ) { fetched.record($0) }
        for size in [400, 400, 400, 5_000, 1] {
            try await sender.publish(
                try TransportMessage(subject: "shop.sold", body: [UInt8](repeating: 0, count: size)),
                durable: true
            )
        }
        #expect(fetched.count == 2)
        fetched.all[0].settle?(.acknowledged)
        #expect(fetched.count == 3)
        fetched.all[1].settle?(.acknowledged)
        #expect(fetched.count == 3)
        fetched.all[2].settle?(.acknowledged)
        #expect(fetched.all.last?.message.body.count == 5_000)
        fetched.all[3].settle?(.acknowledged)
        #expect(fetched.all.last?.message.body.count == 1)
    }

    /// The full buffer of a listener is no failure of it.
    @Test func fullBufferOfAListenerDeliversAgainWithoutCounting() async throws {
        let clock = ManualClock()
        let broker = InMemoryBroker(clock: clock)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let configuration = BridgeConfiguration.quick.with {
            $0.failureLimit = 1
            $0.backoff = Backoff(first: .seconds(1), limit: .seconds(1))
        }
        let routes: [BridgeRoute] = [.incoming(.ordered, durable: true)]
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), routes, configuration: configuration)
        let (gate, begun) = (Gate(), Recorder<Order>())
        let token = kitchen.board[.ordered].listen(buffering: .oldest(1)) { order in
            begun.record(order)
            await gate.wait()
        }
        // Posted here: the first is being handled, the second fills the buffer.
        kitchen.board[.ordered].post(Order(dish: "here"))
        _ = await begun.first(1)
        kitchen.board[.ordered].post(Order(dish: "here, too"))
        till.board[.ordered].post(Order(dish: "there"))
        for number in 1...3 {
            _ = await clock.sleeps.first(number)
            if number < 3 { clock.advance(by: .seconds(1)) }
        }
        gate.open()
        _ = await begun.first(2)
        clock.advance(by: .seconds(1))
        #expect(await begun.first(3).map(\.dish) == ["here", "here, too", "there"])
        try await kitchen.stop()
        try await till.stop()
        #expect(kitchen.deadLetters.count == 0 && kitchen.bridge.statistics.retried == 3)
        withExtendedLifetime(token) {}
    }
}
