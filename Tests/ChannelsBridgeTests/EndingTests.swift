import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// What becomes of messages that are under way when a bridge ends.
@Suite(.hangLimit)
struct EndingTests {
    private let broker = InMemoryBroker()

    /// What is not durable nobody else delivers.
    @Test(arguments: [false, true])
    func whatWaitsForItsTurnIsDeliveredUnlessTheBrokerKeepsIt(isDurable: Bool) async throws {
        let (fed, gate) = (Fed(), Gate())
        let route = BridgeRoute.incoming(.sold, durable: isDurable)
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [isDurable ? route.retryingUndecodable(atMost: 0) : route],
            holdingDeadLetters: gate
        )
        let (heard, token) = kitchen.recorder(.sold)
        try fed.deliver("no JSON", id: "bad", durable: isDurable)
        _ = await kitchen.deadLetters.first(1)
        for total in 0..<3 { try fed.deliver(#"{"total":\#(total)}"#, id: "\(total)", durable: isDurable) }
        let stopping = Task { try await kitchen.stop() }
        _ = await kitchen.bridge.status.first { $0.phase == .ending }
        if isDurable { await wait(for: kitchen.bridge.statistics.unfinished) { $0 >= 3 } }
        gate.open()
        try await stopping.value
        #expect(heard.count == (isDurable ? 0 : 3))
        #expect(kitchen.bridge.statistics.unfinished == (isDurable ? 3 : 0))
        withExtendedLifetime(token) {}
    }

    @Test func aBridgeThatDoesNotWaitEndsWithoutAnErrorIfNothingIsUndone() async throws {
        let process = await MiniProcess(
            "process",
            InMemoryTransport(broker),
            [
                .both(.ordered, durable: true), .both(.sold), .answering(.price), .asking(.price),
                .both(state: .lastSale, initial: Sale(total: 0)), .both(statesMatching: "shop.*", of: Sale.self),
            ],
            configuration: .quick.with { $0.closeTimeout = .zero }
        )
        #expect(await process.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        await wait(for: process.bridge.statistics) { $0.echoes == 1 && $0.sent == 2 }
        try await process.stop()
    }

    @Test func aDurableMessagePostedWhileTheBridgeEndsIsDroppedAndCounted() async throws {
        let (gate, published) = (Gate(), Recorder<String>())
        var holding = AlteredTransport(broker)
        holding.publishes = { message in
            published.record(message.subject)
            await gate.wait()
            return message
        }
        let till = await MiniProcess("till", holding, [.outgoing(.sold, durable: true)])
        till.board[.sold].post(Sale(total: 0))
        _ = await published.first(1)
        let stopping = Task { try await till.stop() }
        var posted = 1
        while till.bridge.statistics.dropped == 0 {
            till.board[.sold].post(Sale(total: posted))
            posted += 1
            await Task.yield()
        }
        gate.open()
        try await stopping.value
        #expect(till.bridge.statistics.dropped == 1 && till.bridge.statistics.sent == posted - 1)
        #expect(till.faults.all.contains { ($0.underlyingError as? BridgeError)?.code == .closed })
    }
}
