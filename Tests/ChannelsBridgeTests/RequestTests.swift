import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

private struct Unknown: Error, Codable, Equatable {
    var item: String
    var nearest: [String]
}

private enum Newer {
    struct Unknown: Error, Codable { var code: Int }
}

@Suite(.hangLimit)
struct RequestTests {
    private let broker = InMemoryBroker()

    @Test func askingInOneProcessReachesTheResponderInAnother() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let token = shop.board.requests(.price).respond { item in item.count }
        #expect(try await till.board.requests(.price).ask("apple") == 5)
        let prices = till.board.requests(.price)
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for length in 1...100 { group.addTask { try await prices.ask(String(repeating: "x", count: length)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.sorted() == Array(1...100))
        try await till.stop()
        try await shop.stop()
        #expect(till.bridge.statistics.asked == 101 && shop.bridge.statistics.answered == 101)
        withExtendedLifetime(token) {}
    }

    @Test func aResponderInTheProcessComesFirst() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let there = shop.board.requests(.price).respond { _ in 1 }
        var here: ListenerToken? = till.board.requests(.price).respond(priority: .low) { _ in 2 }
        #expect(try await till.board.requests(.price).ask("x") == 2)
        here?.cancel()
        #expect(try await till.board.requests(.price).ask("x") == 1)
        here = nil
        try await till.stop()
        try await shop.stop()
        withExtendedLifetime((there, here)) {}
    }

    @Test func noResponderAnywhereIsTheSameErrorAsWithoutABridge() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        await #expect { try await till.board.requests(.price).ask("x") } throws: {
            ($0 as? ChannelError)?.code == .noResponder
        }
        // A process that would answer, but in which nobody responds.
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        await #expect { try await till.board.requests(.price).ask("x") } throws: {
            ($0 as? ChannelError)?.code == .noResponder
        }
        try await till.stop()
        try await shop.stop()
    }

    @Test func processesThatAskAndAnswerDoNotGoRoundInCircles() async throws {
        let left = await MiniProcess("left", InMemoryTransport(broker), [.asking(.price), .answering(.price)])
        let right = await MiniProcess("right", InMemoryTransport(broker), [.asking(.price), .answering(.price)])
        for _ in 0..<4 {
            await #expect { try await left.board.requests(.price).ask("x") } throws: {
                ($0 as? ChannelError)?.code == .noResponder
            }
        }
        try await left.stop()
        try await right.stop()
    }

    @Test func aRequestWithoutAReplyTimesOut() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let configuration = BridgeConfiguration.quick.with { $0.requestTimeout = .milliseconds(20) }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)], configuration: configuration)
        let gate = Gate()
        let token = shop.board.requests(.price).respond { _ in
            await gate.wait()
            return 1
        }
        await #expect { try await till.board.requests(.price).ask("x") } throws: {
            ($0 as? ChannelError)?.code == .timedOut
        }
        gate.open()
        try await till.stop()
        try await shop.stop()
        withExtendedLifetime(token) {}
    }

    @Test func whatTheResponderThrowsIsTold() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let token = shop.board.requests(.price).respond { _ in throw Trouble(description: "sold out: \"ü\"\r\n") }
        await #expect { try await till.board.requests(.price).ask("x") } throws: { error in
            let error = error as? BridgeError
            return error?.code == .remoteFailure && error?.detail?.contains("sold out") == true
                && error?.description.contains("\n") == false
        }
        try await till.stop()
        try await shop.stop()
        withExtendedLifetime(token) {}
    }

    /// What a responder in the same process would throw.
    @Test func anErrorThatBothRoutesDeclareArrivesAsItself() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price, errors: Unknown.self)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price, errors: Unknown.self)])
        let token = shop.board.requests(.price).respond { item in
            if item == "bread" { throw Trouble(description: "sold out") }
            throw Unknown(item: item, nearest: ["tea"])
        }
        await #expect(throws: Unknown(item: "te\u{E9}", nearest: ["tea"])) {
            try await till.board.requests(.price).ask("te\u{E9}")
        }
        await #expect { try await till.board.requests(.price).ask("bread") } throws: {
            ($0 as? BridgeError)?.code == .remoteFailure
        }
        try await till.stop()
        try await shop.stop()
        #expect(till.bridge.statistics.asked == 2 && shop.bridge.statistics.answered == 2)
        withExtendedLifetime(token) {}
    }

    /// Declared on one side only, or with other fields on the other: its description arrives.
    @Test(arguments: [
        (BridgeRoute.answering(.price, errors: Unknown.self), BridgeRoute.asking(.price)),
        (.answering(.price), .asking(.price, errors: Unknown.self)),
        (.answering(.price, errors: Newer.Unknown.self), .asking(.price, errors: Unknown.self)),
    ])
    func anErrorThatOneSideDoesNotReadArrivesByItsDescription(answering: BridgeRoute, asking: BridgeRoute) async throws
    {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [answering])
        let till = await MiniProcess("till", InMemoryTransport(broker), [asking])
        let token = shop.board.requests(.price).respond { item in
            if item == "new" { throw Newer.Unknown(code: 404) }
            throw Unknown(item: item, nearest: [])
        }
        for item in ["soup", "new"] {
            await #expect { try await till.board.requests(.price).ask(item) } throws: { error in
                let error = error as? BridgeError
                return error?.code == .remoteFailure && error?.detail?.contains("Unknown(") == true
            }
        }
        try await till.stop()
        try await shop.stop()
        withExtendedLifetime(token) {}
    }

    @Test func askingBeforeTheBridgeIsConnectedThrows() async throws {
        let board = Switchboard()
        let bridge = Bridge("till", switchboard: board, transport: InMemoryTransport(broker), routes: [.asking(.price)])
        await #expect { try await board.requests(.price).ask("x") } throws: {
            ($0 as? BridgeError)?.code == .notConnected
        }
        withExtendedLifetime(bridge) {}
    }

    /// Not after the time that an answer may take.
    @Test func askingWithoutAConnectionThrowsAtOnce() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var telling = AlteredTransport(broker)
        telling.hears = { events.record($0) }
        let till = await MiniProcess("till", telling, [.asking(.price)])
        let tell = try #require(events.all.first)
        let token = shop.board.requests(.price).respond { _ in 3 }
        tell(.disconnected(reason: nil))
        await #expect { try await till.board.requests(.price).ask("x") } throws: {
            ($0 as? BridgeError)?.code == .notConnected
        }
        tell(.reconnected(gap: .zero, unsent: 0))
        #expect(try await till.board.requests(.price).ask("x") == 3)
        for process in [till, shop] { try await process.stop() }
        withExtendedLifetime(token) {}
    }

    @Test func aRequestThatCannotBeUnderstoodIsRefusedAndTold() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let token = shop.board.requests(.price).respond { _ in 1 }
        let asker = try await connectedTransport(broker)
        let garbage = try TransportMessage.event("garbage", to: "shop.price", type: "String")
        let reply = try await asker.request(garbage, timeout: .patience)
        #expect(reply.headers["ce-channelserror"] == "undecodable")
        let odd = try await asker.request(try .event(#""x""#, to: "shop.price", type: "Sale"), timeout: .patience)
        #expect(odd.headers["ce-channelserror"] == "unknownType")
        #expect(await shop.deadLetters.first(2).map(\.error.code) == [.undecodable, .unknownType])
        try await shop.stop()
        #expect(shop.bridge.statistics.refused == 2)
        withExtendedLifetime(token) {}
    }

    @Test func aReplyThatCannotBeUnderstoodIsAnError() async throws {
        var lying = AlteredTransport(broker)
        lying.repliesWith = { TransportReply(headers: $0.headers, body: Array("garbage".utf8)) }
        let shop = await MiniProcess("shop", lying, [.answering(.price)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let token = shop.board.requests(.price).respond { _ in 1 }
        await #expect { try await till.board.requests(.price).ask("x") } throws: {
            ($0 as? BridgeError)?.code == .undecodable
        }
        try await till.stop()
        try await shop.stop()
        withExtendedLifetime(token) {}
    }

    @Test func requestsAreAnsweredAtTheSameTimeUpToALimit() async throws {
        let configuration = BridgeConfiguration.quick.with {
            $0.concurrentRequestLimit = 2
            $0.buffer.messages = 8
        }
        let (reference, overflows) = (BridgeReference(), Recorder<Int>())
        var transport = AlteredTransport(broker)
        transport.repliesWith = { reply in
            if reply.headers["ce-channelserror"]?.contains("bufferFull") == true {
                overflows.record(reference.bridge?.statistics.overflowed ?? -1)
            }
            return reply
        }
        let shop = await MiniProcess("shop", transport, [.answering(.price)], configuration: configuration) {
            reference.bridge = $1
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let gate = Gate()
        let begun = Recorder<String>()
        let token = shop.board.requests(.price).respond { item in
            begun.record(item)
            await gate.wait()
            return 1
        }
        let prices = till.board.requests(.price)
        var asking: [Task<Int, any Error>] = []
        // Two are being answered; of the others one is in hand and one waits.
        for index in 0..<8 {
            asking.append(Task { try await prices.ask("\(index)") })
            if index < 2 { _ = await begun.first(index + 1) }
        }
        let full = await shop.faults.wait { $0.count >= 4 }
        #expect(full.allSatisfy { "\($0)".contains("bufferFull") })
        #expect(begun.count == 2)
        gate.open()
        var refused = 0
        for task in asking {
            do { _ = try await task.value } catch let error as BridgeError where error.code == .remoteFailure {
                refused += 1
            }
        }
        try await till.stop()
        try await shop.stop()
        #expect(refused >= 4 && refused == shop.bridge.statistics.overflowed)
        // Counted before they were told.
        #expect(overflows.count == refused && zip(overflows.all, 1...).allSatisfy { $0 >= $1 })
        withExtendedLifetime(token) {}
    }

    /// Those that are not answered yet wait, and one of them is in hand.
    @Test func noMoreRequestsAreAnsweredAtOnceThanTheLimitSays() async throws {
        let configuration = BridgeConfiguration.quick.with { $0.concurrentRequestLimit = 3 }
        let transport = InMemoryTransport(broker)
        let shop = await MiniProcess("shop", transport, [.answering(.price)], configuration: configuration)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let (gate, begun) = (Gate(), Recorder<String>())
        let token = shop.board.requests(.price).respond { item in
            begun.record(item)
            await gate.wait()
            return item.count
        }
        let prices = till.board.requests(.price)
        let asking = (1...20).map { length in Task { try await prices.ask(String(repeating: "x", count: length)) } }
        _ = await begun.first(3)
        for _ in 0..<100 {
            await wait(for: shop.bridge.statistics.waitingToDeliver) { $0 == 16 }
            #expect(begun.count == 3)
        }
        gate.open()
        for (task, length) in zip(asking, 1...20) { #expect(try await task.value == length) }
        try await till.stop()
        try await shop.stop()
        #expect(shop.bridge.statistics.answered == 20 && shop.bridge.statistics.waitingToDeliver == 0)
        withExtendedLifetime(token) {}
    }

    @Test func aResponderMayAskAThirdProcess() async throws {
        let stock = RequestName<String, Int>("shop.stock")
        let store = await MiniProcess("store", InMemoryTransport(broker), [.answering(stock)])
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price), .asking(stock)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let inStore = store.board.requests(stock).respond { item in item.count }
        let inShop = shop.board.requests(.price).respond { item in try await shop.board.requests(stock).ask(item) * 10 }
        #expect(try await till.board.requests(.price).ask("pear") == 40)
        for process in [till, shop, store] { try await process.stop() }
        withExtendedLifetime((inStore, inShop)) {}
    }

    @Test func whoeverHasAReplyIsCounted() async throws {
        let (reference, counted) = (BridgeReference(), Recorder<BridgeStatistics>())
        var transport = AlteredTransport(broker)
        transport.repliesWith = { reply in
            counted.record(reference.bridge?.statistics ?? BridgeStatistics())
            return reply
        }
        let shop = await MiniProcess("shop", transport, [.answering(.price)]) { reference.bridge = $1 }
        let token = shop.board.requests(.price).respond { item in
            if item == "none" { throw Trouble() }
            return item.count
        }
        let asker = try await connectedTransport(broker)
        for question in [#""soup""#, "garbage", #""none""#] {
            _ = try await asker.request(.event(question, to: "shop.price", type: "String"), timeout: .patience)
        }
        #expect(counted.all.map(\.answered) == [1, 2, 3])
        #expect(counted.all.map(\.refused) == [0, 1, 1])
        try await shop.stop()
        withExtendedLifetime(token) {}
    }

    @Test func requestsThatWereAnsweredWithAnErrorCountAsAsked() async throws {
        let shop = await MiniProcess("shop", InMemoryTransport(broker), [.answering(.price)])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.asking(.price)])
        let prices = till.board.requests(.price)
        // A process replies that nobody responds there.
        await #expect(throws: ChannelError.self) { try await prices.ask("x") }
        #expect(till.bridge.statistics.asked == 1)
        let token = shop.board.requests(.price).respond { _ in throw Trouble() }
        await #expect(throws: BridgeError.self) { try await prices.ask("x") }
        #expect(till.bridge.statistics.asked == 2 && shop.bridge.statistics.answered == 2)
        try await till.stop()
        // The bridge does not respond any more.
        #expect(prices.isEmpty)
        try await shop.stop()
        withExtendedLifetime(token) {}
    }

    /// Another route cannot be subscribed yet.
    @Test func requestsThatArriveBeforeTheBridgeIsReadyAreAnswered() async throws {
        let asker = try await connectedTransport(broker)
        let (reference, waiting, answered) = (BridgeReference(), Recorder<Int>(), Recorder<String>())
        var transport = AlteredTransport(broker)
        transport.subscribes = { _ in
            guard waiting.count == 0 else { return }
            // It has been received when the time is over.
            _ = try? await asker.request(
                .event(#""early""#, to: "shop.price", type: "String"),
                timeout: .nanoseconds(1)
            )
            waiting.record(reference.bridge?.statistics.waitingToDeliver ?? -1)
            throw BridgeError(.timedOut)
        }
        let board = Switchboard(onFault: { _ in })
        let token = board.requests(.price).respond { item in
            answered.record(item)
            return 1
        }
        let shop = await MiniProcess(
            "shop",
            transport,
            [.answering(.price), .incoming(.sold)],
            configuration: .quick.with { $0.concurrentRequestLimit = 1 },
            board: board
        ) { reference.bridge = $1 }
        _ = try await asker.request(.event(#""late""#, to: "shop.price", type: "String"), timeout: .patience)
        try await shop.stop()
        #expect(waiting.all == [1] && answered.all == ["early", "late"])
        #expect(shop.bridge.statistics.answered == 2 && shop.bridge.statistics.waitingToDeliver == 0)
        withExtendedLifetime(token) {}
    }

    /// It waits until the bridge begins to work, which it will not.
    @Test func whoeverAskedABridgeThatCannotStartHearsThatNobodyAnswers() async throws {
        let asker = try await connectedTransport(broker)
        let (reference, replies) = (BridgeReference(), Recorder<String?>())
        var transport = AlteredTransport(broker)
        transport.subscribes = { _ in
            Task {
                let request = try TransportMessage.event(#""early""#, to: "shop.price", type: "String")
                let reply = try await asker.request(request, timeout: .patience)
                replies.record(reply.headers["ce-channelserror"])
            }
            await wait(for: reference.bridge?.statistics.waitingToDeliver) { $0 == 1 }
            throw BridgeError(.permissionDenied)
        }
        let routes: [BridgeRoute] = [.answering(.price), .incoming(.sold)]
        let shop = await MiniProcess("shop", transport, routes, waits: false) { reference.bridge = $1 }
        #expect(await replies.first(1) == ["noResponder"])
        await #expect { try await shop.end() } throws: { ($0 as? BridgeError)?.code == .permissionDenied }
        #expect(shop.bridge.statistics.waitingToDeliver == 0)
    }
}
