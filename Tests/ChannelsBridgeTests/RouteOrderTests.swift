import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// In which order the routes of a bridge begin and end, so that a listener can use the others.
@Suite(.hangLimit)
struct RouteOrderTests {
    private let broker = InMemoryBroker()

    /// Lets a bridge that ends do everything that does not wait for this task.
    private func letOthersRun() async {
        for _ in 0..<1_000 { await Task.yield() }
    }

    /// A process that ends while `gate` holds its listener or responder.
    private func stop(_ process: MiniProcess, _ gate: Gate) async throws {
        await gate.waitUntilReached()
        let stopping = Task { try await process.stop() }
        _ = await process.bridge.status.first { $0.phase == .ending }
        gate.open()
        try await stopping.value
    }

    /// A bridge of thousands of names must not compare and keep all pairs of them.
    @Test func aRouteKnowsTheEarlierOnesOfItsOwnNameAndThePatterns() throws {
        let known = Recorder<(name: String, earlier: [String])>()
        func route(_ pattern: ChannelPattern) -> BridgeRoute {
            let plain = BridgeRoute.incoming(matching: pattern, of: Int.self).parts[0]
            return BridgeRoute(.incoming, pattern) { context, earlier, options in
                known.record((pattern.text, earlier.map { $0.pattern?.text ?? "" }))
                return plain.makeWorker(context, earlier, options)
            }
        }
        let routes = ["a", "room.b", "room.*", "a", "room.c", "room.b"].map { route(ChannelPattern(stringLiteral: $0)) }
        _ = Bridge("till", switchboard: Switchboard(), transport: InMemoryTransport(broker), routes: routes)
        #expect(known.all.map(\.name) == ["a", "room.b", "room.*", "a", "room.c", "room.b"])
        #expect(
            known.all.map(\.earlier) == [[], [], ["a", "room.b"], ["a", "room.*"], ["room.*"], ["room.b", "room.*"]]
        )
    }

    @Test func whatAListenerPostsWhileTheBridgeEndsIsSent() async throws {
        let cooked: ChannelName<Sale> = "kitchen.cooked"
        let (gate, reference, outcomes) = (Gate(), BridgeReference(), Recorder<String>())
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [
                .outgoing(.ordered, durable: true), .incoming(.sold), .incoming(cooked, durable: true),
                .incoming(state: .lastSale, initial: Sale(total: 0)),
            ]
        )
        let (sold, durable) = (till.recorder(.sold), till.recorder(cooked))
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [
                .incoming(.ordered, durable: true), .outgoing(.sold), .outgoing(cooked, durable: true),
                .both(state: .lastSale, initial: Sale(total: 0)),
            ]
        ) { reference.bridge = $1 }
        let state = kitchen.board.state(.lastSale, initial: Sale(total: 0))
        let token = kitchen.board[.ordered].listen { [board = kitchen.board] _ in
            await gate.wait()
            await letOthersRun()
            board[.sold].post(Sale(total: 1))
            board[cooked].post(Sale(total: 2))
            outcomes.record("\(await board[cooked].postAndWait(Sale(total: 3)).isComplete)")
            do { try await reference.bridge?.send(Sale(total: 4), to: cooked) } catch { outcomes.record("\(error)") }
            state.set(Sale(total: 5))
        }
        till.board[.ordered].post(Order(dish: "soup"))
        try await stop(kitchen, gate)
        let statistics = kitchen.bridge.statistics
        #expect(statistics.received == 1 && statistics.dropped + statistics.failed == 0 && kitchen.faults.count == 0)
        #expect(outcomes.all == ["true"])
        #expect(await sold.0.first(1) == [Sale(total: 1)])
        #expect(await durable.0.first(3).map(\.total) == [2, 3, 4])
        _ = await till.board.state(.lastSale, initial: Sale(total: 0)).first { $0.total == 5 }
        try await till.stop()
        withExtendedLifetime((token, sold.1, durable.1)) {}
    }

    @Test func aResponderThatIsAnsweringWhileTheBridgeEndsMayAskAndPost() async throws {
        let gate = Gate()
        let question: RequestName<String, Int> = "shop.question"
        let front = await MiniProcess("front", InMemoryTransport(broker), [.asking(question)])
        let back = await MiniProcess(
            "back",
            InMemoryTransport(broker),
            [.answering(.price), .incoming(.sold, durable: true)]
        )
        let answering = back.board.requests(.price).respond { $0.count }
        let (sold, token) = back.recorder(.sold)
        let middle = await MiniProcess(
            "middle",
            InMemoryTransport(broker),
            [.answering(question), .asking(.price), .outgoing(.sold, durable: true)]
        )
        let responding = middle.board.requests(question).respond { [board = middle.board] dish in
            await gate.wait()
            await letOthersRun()
            board[.sold].post(Sale(total: 1))
            return try await board.requests(.price).ask(dish)
        }
        async let price = front.board.requests(question).ask("soup")
        try await stop(middle, gate)
        #expect(try await price == 4)
        #expect(await sold.first(1) == [Sale(total: 1)])
        try await front.stop()
        try await back.stop()
        withExtendedLifetime((answering, responding, token)) {}
    }

    /// Otherwise, a listener counts from the initial value, and its result replaces the broker's.
    @Test func listenersOfWaitingMessagesFindTheStatesOfTheBroker() async throws {
        let wire = try await connectedTransport(broker)
        try await wire.subscribe(to: "shop.sold", durableName: "reader") { $0.settle?(.acknowledged) }
        for round in 0..<20 {
            _ = try await wire.store(.event(#"{"total":\#(100 + round)}"#, to: "shop.lastSale", id: "\(round)"))
            for id in ["\(round) a", "\(round) b"] {
                try await wire.publish(.event(#"{"total":1}"#, to: "shop.sold", id: id), durable: true)
            }
            let heard = Recorder<Int>()
            let kitchen = await MiniProcess(
                "kitchen",
                InMemoryTransport(broker),
                [.incoming(.sold, durable: true), .both(state: .lastSale, initial: Sale(total: 0))]
            ) { board, _ in
                let state = board.state(.lastSale, initial: Sale(total: 0))
                board[.sold].listen(board) { _, sale in
                    state.update { $0.total += sale.total }
                    heard.record(state.value.total)
                }
            }
            #expect(await heard.first(2) == [101 + round, 102 + round])
            try await kitchen.stop()
        }
        try await wire.close(timeout: .seconds(1))
    }
}
