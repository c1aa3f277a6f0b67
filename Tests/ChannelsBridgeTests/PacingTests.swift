import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// How many messages of a durable name a process holds: none when it ends, and one while they fail or end it.
@Suite(.hangLimit)
struct PacingTests {
    private let broker = InMemoryBroker()
    private let route = BridgeRoute.incoming(.ordered, durable: true)

    /// Stores messages for the durable name `kitchen`.
    private func order(_ dishes: [String]) async throws {
        let wire = try await connectedTransport(broker)
        for dish in dishes {
            try await wire.publish(
                TransportMessage(posting: Order(dish: dish), on: Switchboard()[.ordered]),
                durable: true
            )
        }
        try await wire.close(timeout: .seconds(1))
    }

    @Test func aBridgeThatEndsTakesNoMoreMessages() async throws {
        let (begun, isOver, heard) = (Gate(), Gate(), Recorder<String>())
        try await order(["slow", "queued"])
        let ending = await MiniProcess("kitchen", InMemoryTransport(broker), [route]) { board, _ in
            board[.ordered].listen(board) { _, _ in
                begun.open()
                await isOver.wait()
            }
        }
        await begun.wait()
        let stopping = Task { try await ending.stop() }
        await wait(for: ending.bridge.statistics.unfinished) { $0 == 1 }
        let other = try await connectedTransport(broker)
        try await other.subscribe(to: "kitchen.ordered", durableName: "kitchen") { message in
            message.settle?(.acknowledged)
            heard.record(String(decoding: message.message.body, as: UTF8.self))
        }
        try await order((0..<10).map { "\($0)" })
        #expect(await heard.first(10).count >= 10)
        isOver.open()
        try await stopping.value
        let statistics = ending.bridge.statistics
        #expect(statistics.received + statistics.unfinished <= 2)
        try await other.close(timeout: .seconds(1))
    }

    @Test func aProcessWhoseListenersOnlyFailLeavesTheMessagesToOthers() async throws {
        try await order((0..<1_000).map { "\($0)" })
        let configuration = BridgeConfiguration.quick.with {
            $0.backoff = Backoff(first: .milliseconds(50), limit: .milliseconds(50))
        }
        let (failed, heard) = (Recorder<String>(), Recorder<String>())
        var processes: [MiniProcess] = []
        for isBroken in [true, false] {
            processes.append(
                await MiniProcess(
                    "kitchen",
                    InMemoryTransport(broker),
                    [route],
                    configuration: configuration,
                    beforeRunning: { board, _ in
                        board[.ordered].listen(board) { _, order in
                            (isBroken ? failed : heard).record(order.dish)
                            if isBroken { throw Trouble() }
                        }
                    }
                )
            )
            if isBroken { _ = await failed.first(16) }
        }
        await heard.wait { Set($0).count == 1_000 }
        #expect(failed.count < 300, "\(failed.count) calls failed")
        for process in processes { try await process.stop() }
    }

    /// Each process is killed while a listener has the message.
    @Test func aMessageThatEndsProcessesBecomesALetterAndItsNeighborsDoNot() async throws {
        let dishes = ["1", "killer", "2", "3", "4"]
        try await order(dishes)
        let (heard, isOver) = (Recorder<(dish: String, attempt: Int)>(), Gate())
        var killed: [MiniProcess] = []
        var tokens: [ListenerToken] = []
        for round in 1...9 {
            let transport = InMemoryTransport(broker)
            let process = await MiniProcess(
                "kitchen",
                transport,
                [route],
                configuration: .quick.with { ($0.deliveryLimit, $0.closeTimeout) = (8, .zero) },
                beforeRunning: { board, _ in
                    tokens.append(
                        board[.ordered].posts.listen { post in
                            heard.record((post.message.dish, post.delivery?.attempt ?? 0))
                            if post.message.dish == "killer" { await isOver.wait() }
                        }
                    )
                }
            )
            killed.append(process)
            guard round < 9 else {
                #expect(await process.deadLetters.first(1).first?.message.body == Array(#"{"dish":"killer"}"#.utf8))
                break
            }
            await heard.wait { $0.filter { $0.dish == "killer" }.count == round }
            transport.breakConnection()
        }
        await heard.wait { Set($0.map(\.dish)) == Set(dishes) }
        // Later, the listeners that were killed return.
        let all = heard.all
        isOver.open()
        for process in killed { try? await process.stop() }
        #expect(killed.reduce(0) { $0 + $1.deadLetters.count } == 1)
        #expect(all.filter { $0.dish != "killer" }.count == 4)
        #expect(all.filter { $0.dish == "killer" }.map(\.attempt) == Array(1...8))
        #expect(all.allSatisfy { $0.dish == "killer" || $0.attempt <= 5 })
        withExtendedLifetime(tokens) {}
    }
}
