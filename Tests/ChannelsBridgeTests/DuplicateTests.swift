import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Durable messages that arrive twice.
struct DuplicateTests {
    private let broker = InMemoryBroker()

    @Test func whatIsDeliveredTwiceReachesListenersOnce() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        var doubling = AlteredTransport(broker)
        doubling.receives = { [$0, $0] }
        let kitchen = await MiniProcess("kitchen", doubling, [.incoming(.ordered, durable: true)])
        let (heard, token) = kitchen.recorder(.ordered)
        for number in 0..<10 { till.board[.ordered].post(Order(dish: "\(number)")) }
        _ = await heard.first(10)
        // The last is delivered again when it has been heard.
        while kitchen.bridge.statistics.duplicates < 10 { await Task.yield() }
        try await kitchen.stop()
        try await till.stop()
        #expect(heard.all.map(\.dish) == (0..<10).map { "\($0)" })
        #expect(kitchen.bridge.statistics.duplicates == 10 && kitchen.bridge.statistics.received == 10)
        withExtendedLifetime(token) {}
    }

    @Test func theWindowOfDuplicatesIsBounded() async throws {
        let sender = try await connectedTransport(broker)
        var doubling = AlteredTransport(broker)
        let kept = Recorder<InboundMessage>()
        doubling.receives = { message in
            kept.record(message)
            // The first comes again behind three others.
            return kept.count == 4 ? [message, kept.all[0]] : [message]
        }
        let configuration = BridgeConfiguration.quick.with { $0.duplicateWindow = 2 }
        let kitchen = await MiniProcess(
            "kitchen",
            doubling,
            [.incoming(.sold, durable: true)],
            configuration: configuration
        )
        let (heard, token) = kitchen.recorder(.sold)
        for total in 0..<4 {
            try await sender.publish(
                try .event(#"{"total":\#(total)}"#, to: "shop.sold", id: "\(total)"),
                durable: true
            )
        }
        #expect(await heard.first(5).map(\.total) == [0, 1, 2, 3, 0])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }
}
