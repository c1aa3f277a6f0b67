import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Durable messages that arrive twice.
@Suite(.hangLimit)
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
        await wait(for: kitchen.bridge.statistics.duplicates) { $0 >= 10 }
        try await kitchen.stop()
        try await till.stop()
        #expect(heard.all.map(\.dish) == (0..<10).map { "\($0)" })
        #expect(kitchen.bridge.statistics.duplicates == 10 && kitchen.bridge.statistics.received == 10)
        withExtendedLifetime(token) {}
    }

    /// A peer has seen the first one, and publishes its identifier again while it is being retried. One that the
    /// broker numbers is known by its number, another one by what identifies it at the broker.
    @Test(arguments: [true, false])
    func messageNotHandledIsNotSuppressedByALaterWithItsIdentifier(isNumbered: Bool) async throws {
        let (transport, settled) = (FedTransport(), Recorder<Settlement>())
        let kitchen = await MiniProcess("kitchen", transport, [.incoming(.sold, durable: true)])
        let heard = Recorder<Int>()
        let token = kitchen.board[.sold].listen { (sale: Sale) throws in
            heard.record(sale.total)
            if heard.count == 1 { throw Trouble() }
        }
        // The first one fails. Then the forged one comes, and each of them twice.
        for (total, number) in [(1, 10), (666, 11), (1, 10), (1, 10), (666, 11)] {
            let count = settled.count + 1
            transport.subscribers.all[0](
                InboundMessage(
                    try .event(#"{"total":\#(total)}"#, to: "shop.sold", id: "seen", source: "victim"),
                    identity: "\(number)",
                    sequence: isNumbered ? UInt64(number) : nil,
                    onSettled: { if let settlement = $0 { settled.record(settlement) } }
                )
            )
            _ = await settled.first(count)
        }
        try await kitchen.stop()
        #expect(heard.all == [1, 666, 1])
        #expect(settled.all.dropFirst().allSatisfy { $0 == .acknowledged } && kitchen.bridge.statistics.retried == 1)
        #expect(kitchen.bridge.statistics.received == 2 && kitchen.bridge.statistics.duplicates == 2)
        withExtendedLifetime(token) {}
    }

    /// It may have failed in another process of the name, or have been sent back without having been looked at.
    @Test func onlyAMessageThatWasStoredEarlierMakesAnotherADuplicate() async throws {
        let (transport, settled) = (FedTransport(), Recorder<Settlement>())
        let kitchen = await MiniProcess("kitchen", transport, [.incoming(.sold, durable: true)])
        let (heard, token) = kitchen.recorder(.sold)
        for number in [11, 10, 12, 11, 10, 9] {
            let count = settled.count + 1
            transport.subscribers.all[0](
                InboundMessage(
                    try .event(#"{"total":\#(number)}"#, to: "shop.sold", id: "seen", source: "victim"),
                    sequence: UInt64(number),
                    onSettled: { if let settlement = $0 { settled.record(settlement) } }
                )
            )
            _ = await settled.first(count)
        }
        try await kitchen.stop()
        #expect(heard.all.map(\.total) == [11, 10, 9] && kitchen.bridge.statistics.duplicates == 3)
        withExtendedLifetime(token) {}
    }

    @Test func theWindowOfDuplicatesIsBounded() async throws {
        let sender = try await connectedTransport(broker)
        var doubling = AlteredTransport(broker)
        let kept = Recorder<InboundMessage>()
        doubling.receives = { message in
            kept.record(message)
            // The first comes again behind four others, twice as many as are remembered in any case.
            return kept.count == 5 ? [message, kept.all[0]] : [message]
        }
        // Its bytes have room for two in the window.
        let configuration = BridgeConfiguration.quick.with { $0.buffer.bytes = 5_000 }
        let kitchen = await MiniProcess(
            "kitchen",
            doubling,
            [.incoming(.sold, durable: true)],
            configuration: configuration
        )
        let (heard, token) = kitchen.recorder(.sold)
        for total in 0..<5 {
            try await sender.publish(
                try .event(#"{"total":\#(total)}"#, to: "shop.sold", id: "\(total)"),
                durable: true
            )
        }
        #expect(await heard.first(6).map(\.total) == [0, 1, 2, 3, 4, 0])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }
}
