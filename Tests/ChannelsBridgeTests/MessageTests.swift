import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct MessageTests {
    private let broker = InMemoryBroker()

    @Test func aPostReachesTheListenersOfAnotherProcessWithItsOrigin() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let origins = Recorder<MessageOrigin>()
        let (heard, token) = kitchen.recorder(.sold)
        let informed = kitchen.board[.sold].posts.listen { post in origins.record(post.origin) }
        till.board[.sold].post(Sale(total: 12))
        #expect(await heard.first(1) == [Sale(total: 12)])
        guard case .remote(let source) = await origins.first(1).first else {
            Issue.record("the origin is local")
            return
        }
        #expect(source.hasPrefix("channels/till/"))
        try await till.stop()
        try await kitchen.stop()
        #expect(till.bridge.statistics.sent == 1)
        #expect(kitchen.bridge.statistics.received == 1)
        withExtendedLifetime((token, informed)) {}
    }

    @Test func whatIsNotDeclaredStaysInTheProcess() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let listener = try await connectedTransport(broker)
        let subjects = Recorder<String>()
        try await listener.subscribe(to: ">", durableName: nil) { subjects.record($0.message.subject) }
        till.board[.ordered].post(Order(dish: "soup"))
        till.board[.lastSale].post(Sale(total: 1))
        till.board[.sold].post(Sale(total: 2))
        #expect(await subjects.first(1) == ["shop.sold"])
        try await till.stop()
        #expect(subjects.count == 1)
    }

    /// Two naive bridges turned one post into 500.
    @Test func twoBridgesFacingEachOtherDeliverEachMessageOncePerProcess() async throws {
        let left = await MiniProcess("left", InMemoryTransport(broker), [.both(.sold)])
        let right = await MiniProcess("right", InMemoryTransport(broker), [.both(.sold)])
        let (leftHeard, leftToken) = left.recorder(.sold)
        let (rightHeard, rightToken) = right.recorder(.sold)
        for total in 0..<100 {
            left.board[.sold].post(Sale(total: total))
            right.board[.sold].post(Sale(total: 1_000 + total))
        }
        _ = await leftHeard.first(200)
        _ = await rightHeard.first(200)
        try await left.stop()
        try await right.stop()
        let expected = (0..<100).flatMap { [Sale(total: $0), Sale(total: 1_000 + $0)] }
        #expect(Set(leftHeard.all) == Set(expected) && leftHeard.count == 200)
        #expect(Set(rightHeard.all) == Set(expected) && rightHeard.count == 200)
        #expect(left.bridge.statistics.sent == 100 && right.bridge.statistics.sent == 100)
        withExtendedLifetime((leftToken, rightToken)) {}
    }

    @Test(arguments: [false, true])
    func eachOfThreeProcessesHearsEachMessageOnce(durable: Bool) async throws {
        var processes: [MiniProcess] = []
        for name in ["one", "two", "three"] {
            processes.append(await MiniProcess(name, InMemoryTransport(broker), [.both(.sold, durable: durable)]))
        }
        let recorders = processes.map { $0.recorder(.sold) }
        for (index, process) in processes.enumerated() {
            for total in 0..<20 { process.board[.sold].post(Sale(total: index * 100 + total)) }
        }
        for (recorder, _) in recorders { _ = await recorder.first(60) }
        for process in processes { try await process.stop() }
        for (process, (recorder, _)) in zip(processes, recorders) {
            #expect(Set(recorder.all).count == 60 && recorder.count == 60)
            #expect(process.bridge.statistics.sent == 20)
            #expect(process.bridge.statistics.received == 40)
            #expect(process.bridge.statistics.refused == 0)
        }
        withExtendedLifetime(recorders) {}
    }

    @Test func whatCameInIsNotSentOutByAnotherBridge() async throws {
        let inner = InMemoryBroker()
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let gateway = await MiniProcess("gateway", InMemoryTransport(broker), [.incoming(.sold)])
        let onward = await MiniProcess("onward", InMemoryTransport(inner), [.outgoing(.sold)], board: gateway.board)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(inner), [.incoming(.sold)])
        let (passed, passedToken) = gateway.recorder(.sold)
        let (heard, token) = kitchen.recorder(.sold)
        till.board[.sold].post(Sale(total: 1))
        _ = await passed.first(1)
        gateway.board[.sold].post(Sale(total: 2))
        #expect(await heard.first(1) == [Sale(total: 2)])
        for process in [till, gateway, onward, kitchen] { try await process.stop() }
        #expect(heard.count == 1)
        withExtendedLifetime((token, passedToken)) {}
    }

    @Test func patternsGoOutAndComeInWithTheirType() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(matching: "shop.*", of: Sale.self)])
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(matching: "shop.>", of: Sale.self)]
        )
        let heard = Recorder<String>()
        let token = kitchen.board[matching: "shop.*"].listen { post in
            heard.record("\(post.channelName ?? "") \((post.message as? Sale)?.total ?? 0)")
        }
        till.board[.sold].post(Sale(total: 1))
        till.board[.lastSale].post(Sale(total: 2))
        till.board[ChannelName<Sale>("shop.too.deep")].post(Sale(total: 3))
        till.board[.sold].post(Sale(total: 4))
        #expect(Set(await heard.first(3)) == ["shop.sold 1", "shop.lastSale 2", "shop.sold 4"])
        try await till.stop()
        try await kitchen.stop()
        #expect(heard.count == 3)
        withExtendedLifetime(token) {}
    }

    @Test func anotherTypeUnderAPatternIsNotSentAndRaisesAFault() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(matching: "shop.*", of: Sale.self)])
        let report = await till.board[ChannelName<Order>("shop.menu")].postAndWait(Order(dish: "soup"))
        #expect((report.failures.first?.error as? BridgeError)?.code == .unencodable)
        #expect(till.faults.all.map(\.code) == [.bridgeFailed])
        #expect(till.faults.all.first?.description.contains("Order") == true)
        try await till.stop()
        #expect(till.bridge.statistics.failed == 1)
    }

    @Test func routesThatOverlapSendAndDeliverOnce() async throws {
        let all = BridgeRoute.both(matching: "shop.>", of: Sale.self)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.both(.sold), all, .both(.sold)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [all, .both(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        for total in 0..<20 { till.board[.sold].post(Sale(total: total)) }
        _ = await heard.first(20)
        till.board[.lastSale].post(Sale(total: 99))
        try await till.stop()
        try await kitchen.stop()
        #expect(heard.all == (0..<20).map { Sale(total: $0) })
        #expect(till.bridge.statistics.sent == 21)
        withExtendedLifetime(token) {}
    }

    @Test func eachPostersMessagesArriveInOrder() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        await withTaskGroup(of: Void.self) { group in
            for poster in 0..<4 {
                group.addTask {
                    for number in 0..<250 { till.board[.sold].post(Sale(total: poster * 1_000 + number)) }
                }
            }
        }
        let totals = await heard.first(1_000).map(\.total)
        for poster in 0..<4 { #expect(totals.filter { $0 / 1_000 == poster } == (0..<250).map { poster * 1_000 + $0 }) }
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func whatIsPostedBeforeTheBridgeRunsWaits() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)]) { board, _ in
            for total in 0..<10 { board[.sold].post(Sale(total: total)) }
        }
        #expect(await heard.first(10) == (0..<10).map { Sale(total: $0) })
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aFullOutgoingBufferIsAFaultAndCounted() async throws {
        let configuration = BridgeConfiguration.quick.with { $0.buffer.messages = 16 }
        let faults = Recorder<Fault>()
        let board = Switchboard(onFault: { faults.record($0) })
        let transport = InMemoryTransport(broker)
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: transport,
            routes: [.outgoing(.sold)],
            configuration: configuration
        )
        // Not running: at most one is being sent and two wait.
        for total in 0..<5 { board[.sold].post(Sale(total: total)) }
        #expect(bridge.statistics.dropped >= 2)
        #expect(faults.all.filter { $0.code == .bufferOverflow }.count == bridge.statistics.dropped)
    }
}
