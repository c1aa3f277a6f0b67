import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// What all routes of a bridge may hold together.
@Suite(.hangLimit)
struct BoundTests {
    private let broker = InMemoryBroker()

    @Test func messagesInTheLanesOfListenersCountUntilTheyAreHeard() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold), .outgoing(.ordered)])
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold), .incoming(.ordered)],
            configuration: .quick.with { $0.buffer.messages = 20 }
        )
        let gate = Gate()
        let heard = Recorder<Int>()
        // Has a mailbox of its own, without a limit.
        let token = kitchen.board[.sold].listen { sale in
            await gate.wait()
            heard.record(sale.total)
        }
        for total in 0..<30 { #expect(await till.board[.sold].postAndWait(Sale(total: total)).isComplete) }
        #expect(kitchen.bridge.statistics.overflowed == 20)
        // The other route has no room either.
        #expect(await till.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        #expect(kitchen.bridge.statistics.overflowed == 21)
        #expect(kitchen.faults.all.contains { "\($0)".contains("bufferFull") })
        gate.open()
        #expect(await heard.first(10) == Array(0..<10))
        let (orders, ordersToken) = kitchen.recorder(.ordered)
        // When the tenth has been heard there is room again, at the latest after its listener has returned.
        while orders.count == 0 { #expect(await till.board[.ordered].postAndWait(Order(dish: "bread")).isComplete) }
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime((token, ordersToken)) {}
    }

    @Test func bytesOfAllOutgoingRoutesCountTogetherWithTheirHeaders() async throws {
        let gate = Gate()
        var transport = AlteredTransport(broker)
        // What is posted is encoded meanwhile.
        transport.connects = { await gate.wait() }
        let names = (0..<8).map { try! ChannelName<Sale>(validating: "shop.till\($0)") }
        let till = await MiniProcess(
            "till",
            transport,
            names.map { BridgeRoute.outgoing($0, durable: true) },
            // A message has about 250 bytes with its headers. One route has room for one, and all for less than eight.
            configuration: .quick.with { $0.buffer.bytes = 2_400 },
            waits: false
        )
        async let reports = withTaskGroup(of: Bool.self) { group in
            for name in names { group.addTask { await till.board[name].postAndWait(Sale(total: 1)).isComplete } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        await till.faults.wait { $0.filter { $0.code == .bridgeFailed }.count >= 2 }
        gate.open()
        #expect((2...6).contains(await reports))
        #expect(await till.board[names[7]].postAndWait(Sale(total: 1)).isComplete)
        try await till.stop()
        let statistics = till.bridge.statistics
        #expect(statistics.sent + statistics.dropped == 9 && statistics.waitingToSend == 0)
    }

    @Test(arguments: [(1, 4), (3, 4), (4, 5), (200, 201)])
    func durableRoutesHaveEqualSharesAndLeaveOneForOthers(count: Int, parts: Int) {
        let routes = (0..<count).map {
            BridgeRoute.incoming(ChannelName<Sale>(stringLiteral: "shop.\($0)"), durable: true)
        }
        let configuration = BridgeConfiguration()
        let context = BridgeContext(InMemoryTransport(broker), configuration, routes + [.incoming(.sold)])
        let shares = routes.map { _ in context.shareOfDurableRoute() }
        #expect(shares.allSatisfy { $0.share.messages == configuration.buffer.messages / 2 / parts })
        #expect(
            shares.allSatisfy { $0.share.bytes == shares[0].share.bytes && $0.share.bytes > 256 * $0.share.messages }
        )
        #expect(context.incoming.bytes <= configuration.buffer.bytes / 2 / parts * count)
        withExtendedLifetime(shares) {}
    }
}
