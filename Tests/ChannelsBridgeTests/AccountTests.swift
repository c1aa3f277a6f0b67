import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// What a bridge counts: every message once, and before anybody is told of it.
@Suite(.hangLimit)
struct AccountTests {
    private let broker = InMemoryBroker()

    @Test func everyDurableMessageIsCountedBeforeItIsSettled() async throws {
        let fed = Fed()
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [.both(.sold, durable: true).retryingUndecodable(atMost: 0)]
        ) { _, bridge in fed.reference.bridge = bridge }
        let token = kitchen.board[.sold].listen { (sale: Sale) throws in
            if sale.total == 13 { throw Trouble() }
        }
        try fed.deliver(#"{"total":1}"#, id: "first")
        let received = await fed.next(1)
        #expect(received.settlement == .acknowledged && received.statistics.received == 1)
        try fed.deliver(#"{"total":1}"#, id: "first")
        let known = await fed.next(2)
        #expect(known.settlement == .acknowledged && known.statistics.duplicates == 1)
        try fed.deliver(#"{"total":13}"#, id: "bad")
        let failed = await fed.next(3)
        #expect(failed.settlement == .retry(after: .zero) && failed.statistics.retried == 1)
        try fed.deliver("no JSON", id: "garbage")
        let refused = await fed.next(4)
        #expect(refused.settlement == .terminated && refused.statistics.refused == 1)
        #expect(await kitchen.board[.sold].postAndWait(Sale(total: 2)).isComplete)
        fed.deliver(try #require(fed.transport.published.all.last), id: "own")
        let echo = await fed.next(5)
        #expect(echo.settlement == .acknowledged && echo.statistics.echoes == 1)
        try await kitchen.stop()
        let statistics = kitchen.bridge.statistics
        #expect(fed.settled.count == 5 && statistics.sent == 1 && statistics.received == 1)
        #expect(statistics.unfinished == 0 && statistics.waitingToDeliver == 0)
        withExtendedLifetime(token) {}
    }

    /// The broker has it for both routes.
    @Test func messageThatAnEarlierRouteDeliversIsSettledAndNotCounted() async throws {
        let fed = Fed()
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [.incoming(.sold, durable: true), .incoming(matching: "shop.*", of: Sale.self, durable: true)]
        )
        let (heard, token) = kitchen.recorder(.sold)
        try fed.deliver(#"{"total":1}"#, id: "1", to: 1)
        #expect(await fed.next(1).settlement == .acknowledged)
        try fed.deliver(#"{"total":1}"#, id: "1")
        #expect(await fed.next(2).settlement == .acknowledged)
        try await kitchen.stop()
        #expect(heard.count == 1 && kitchen.bridge.statistics.received == 1)
        #expect(kitchen.bridge.statistics.duplicates == 0)
        withExtendedLifetime(token) {}
    }

    /// One that is settled for good makes room for others, whose failures are not forgotten for it.
    @Test(arguments: [true, false]) func failuresOfAMessageAreKnownThoughOthersWereSettled(isHandled: Bool) async throws
    {
        let fed = Fed()
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [.incoming(.sold, durable: true).retryingUndecodable(atMost: 0)],
            configuration: .quick.with {
                $0.buffer.messages = 8
                $0.failureLimit = 2
            }
        )
        let token = kitchen.board[.sold].listen { (sale: Sale) throws in
            if sale.total == 13 { throw Trouble() }
        }
        let bad = #"{"total":13}"#
        let other = isHandled ? #"{"total":1}"# : "no JSON"
        for (json, id) in [(bad, "a"), (bad, "b"), (other, "b"), (bad, "c"), (bad, "a")] {
            let number = fed.settled.count + 1
            try fed.deliver(json, id: id)
            _ = await fed.next(number)
        }
        let retry = Settlement.retry(after: .zero)
        let settlements = fed.settled.all.map(\.settlement)
        #expect(settlements == [retry, retry, isHandled ? .acknowledged : .terminated, retry, .terminated])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    /// A broker that delivers more than it was asked for.
    @Test func durableMessageThatHasNoRoomIsSentBack() async throws {
        let fed = Fed()
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [.incoming(.sold, durable: true)],
            configuration: .quick.with { $0.buffer.messages = 8 }
        ) { _, bridge in fed.reference.bridge = bridge }
        let (gate, begun) = (Gate(), Recorder<Int>())
        let token = kitchen.board[.sold].listen { sale in
            begun.record(sale.total)
            await gate.wait()
        }
        try fed.deliver(#"{"total":0}"#, id: "0")
        _ = await begun.first(1)
        for total in 1...3 { try fed.deliver(#"{"total":\#(total)}"#, id: "\(total)") }
        #expect(fed.settled.all.map(\.settlement) == [.retry(after: .zero)])
        #expect(fed.settled.all.first?.statistics.retried == 1)
        #expect(kitchen.bridge.statistics.waitingToDeliver == 3)
        gate.open()
        _ = await fed.next(4)
        #expect(begun.all == [0, 1, 2] && fed.settled.all.dropFirst().allSatisfy { $0.settlement == .acknowledged })
        try await kitchen.stop()
        #expect(kitchen.bridge.statistics.received == 3 && kitchen.bridge.statistics.waitingToDeliver == 0)
        withExtendedLifetime(token) {}
    }

    @Test func whatComesInAfterTheEndIsUnfinished() async throws {
        let fed = Fed()
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [.incoming(.sold, durable: true), .incoming(.lastSale)]
        )
        try await kitchen.stop()
        try fed.deliver(#"{"total":1}"#, id: "1")
        try fed.deliver(#"{"total":2}"#, id: "2", to: 1, durable: false)
        #expect(fed.settled.count == 0)
        #expect(kitchen.bridge.statistics.unfinished == 2 && kitchen.bridge.statistics.waitingToDeliver == 0)
    }

    @Test func whatWaitsWhenTheTimeToCloseIsOverIsUnfinished() async throws {
        let (fed, gate) = (Fed(), Gate())
        let kitchen = await MiniProcess(
            "kitchen",
            fed.transport,
            [.incoming(.sold)],
            configuration: .quick.with { $0.closeTimeout = .zero },
            holdingDeadLetters: gate
        )
        let (heard, token) = kitchen.recorder(.sold)
        try fed.deliver("no JSON", id: "bad", durable: false)
        _ = await kitchen.deadLetters.first(1)
        for total in 0..<3 { try fed.deliver(#"{"total":\#(total)}"#, id: "\(total)", durable: false) }
        #expect(kitchen.bridge.statistics.waitingToDeliver == 4)
        let stopping = Task { try await kitchen.stop() }
        await wait(for: kitchen.bridge.statistics.unfinished) { $0 >= 3 }
        gate.open()
        await #expect { try await stopping.value } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        let statistics = kitchen.bridge.statistics
        #expect(statistics.refused == 1 && statistics.unfinished == 3 && statistics.waitingToDeliver == 0)
        #expect(statistics.received == 0 && heard.count == 0)
        withExtendedLifetime(token) {}
    }

    @Test func lossIsCountedBeforeItsFaultIsRaised() async throws {
        let (reference, told) = (BridgeReference(), Recorder<Int>())
        let board = Switchboard(onFault: { _ in told.record(reference.bridge?.statistics.refused ?? -1) })
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)], board: board) {
            reference.bridge = $1
        }
        for number in 1...3 {
            try await sender.publish(.event("no JSON", to: "shop.sold", id: "\(number)"), durable: false)
        }
        #expect(await told.first(3) == [1, 2, 3])
        try await kitchen.stop()
    }

    /// What it has in hand when its start fails is accounted for, and nothing more is taken.
    @Test func aBridgeThatCouldNotStartTakesNothingWhileItsTransportCloses() async throws {
        let other = try await connectedTransport(broker)
        let board = Switchboard(onFault: { _ in })
        var transport = AlteredTransport(broker)
        transport.subscribes = { subscription in
            guard subscription.pattern == "kitchen.ordered" else { return }
            // The routes before this one are subscribed.
            try await other.publish(.event(#"{"total":1}"#, to: "shop.sold", id: "early"), durable: false)
            _ = try? await other.request(.event(#""tea""#, to: "shop.price", type: "String"), timeout: .nanoseconds(1))
            throw BridgeError(.permissionDenied, subject: "kitchen.ordered")
        }
        transport.closes = {
            try? await other.publish(.event(#"{"total":2}"#, to: "shop.sold", id: "late"), durable: false)
            await #expect {
                _ = try await other.request(.event(#""soup""#, to: "shop.price", type: "String"), timeout: .patience)
            } throws: {
                ($0 as? BridgeError)?.code == .noResponder
            }
            #expect(board.requests(RequestName<String, Int>("shop.stock")).isEmpty)
            #expect(board[.lastSale].post(Sale(total: 1)) == 0 && board[ChannelName<Int>("shop.n")].post(1) == 0)
        }
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: transport,
            routes: [
                .incoming(.sold), .answering(.price), .asking(RequestName<String, Int>("shop.stock")),
                .outgoing(.lastSale), .outgoing(ChannelName<Int>("shop.n"), durable: true), .incoming(.ordered),
            ],
            configuration: .quick
        )
        await #expect { try await bridge.run() } throws: { ($0 as? BridgeError)?.code == .permissionDenied }
        let statistics = bridge.statistics
        #expect(statistics.unfinished == 1 && statistics.waitingToDeliver == 0 && statistics.received == 0)
        try await other.close(timeout: .zero)
    }

    @Test func whatWaitsWhenTheTimeToCloseIsOverIsDropped() async throws {
        let (gate, published) = (Gate(), Recorder<String>())
        var holding = AlteredTransport(broker)
        holding.publishes = { message in
            published.record(message.subject)
            await gate.wait()
            return message
        }
        let configuration = BridgeConfiguration.quick.with { $0.closeTimeout = .zero }
        let till = await MiniProcess("till", holding, [.outgoing(.sold)], configuration: configuration)
        for total in 0..<3 { till.board[.sold].post(Sale(total: total)) }
        _ = await published.first(1)
        // Also what the transport has in hand.
        #expect(till.bridge.statistics.waitingToSend == 3 && till.bridge.statistics.sent == 0)
        let stopping = Task { try await till.stop() }
        await wait(for: till.bridge.statistics.dropped) { $0 >= 2 }
        gate.open()
        await #expect { try await stopping.value } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        // The transport was closed under the first.
        let statistics = till.bridge.statistics
        #expect(statistics.sent + statistics.failed == 1 && statistics.dropped == 2 && statistics.waitingToSend == 0)
        #expect(published.count == 1)
    }

    @Test func stateNotStoredWhenTheTimeToCloseIsOverIsDropped() async throws {
        let clock = ManualClock()
        let transport = InMemoryTransport(broker)
        let configuration = BridgeConfiguration.quick.with {
            $0.clock = clock
            $0.backoff = Backoff(first: .seconds(1_000), limit: .seconds(1_000))
            $0.closeTimeout = .zero
        }
        let route = BridgeRoute.both(state: .lastSale, initial: Sale(total: 0))
        let till = await MiniProcess("till", transport, [route], configuration: configuration)
        await wait(for: till.bridge.statistics.sent) { $0 >= 1 }
        transport.breakConnection()
        till.board.state(.lastSale, initial: Sale(total: 0)).set(Sale(total: 1))
        _ = await clock.sleeps.first(1)
        await #expect { try await till.stop() } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        #expect(till.bridge.statistics.dropped == 1 && till.bridge.statistics.sent == 1)
    }

    @Test func messagesThatWaitForTheBridgeToRunAreCountedOnceEach() async throws {
        let board = Switchboard(onFault: { _ in })
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: InMemoryTransport(broker),
            routes: [.outgoing(.sold), .outgoing(.ordered, durable: true)],
            configuration: .quick.with { $0.buffer.messages = 32 }
        )
        for total in 0..<10 { board[.sold].post(Sale(total: total)) }
        for number in 0..<3 { board[.ordered].post(Order(dish: "\(number)")) }
        // The listener of the first route may have taken one of its messages, which is not sent yet.
        var looks = 0
        while bridge.statistics.waitingToSend + bridge.statistics.dropped != 13, looks < 10_000 {
            looks += 1
            await Task.yield()
        }
        #expect(bridge.statistics.waitingToSend + bridge.statistics.dropped == 13)
        #expect((7...8).contains(bridge.statistics.waitingToSend))
        for _ in 0..<2 {
            let running = Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
            running.cancel()
            try await running.value
            // Those of an earlier run, too.
            let statistics = bridge.statistics
            #expect((7...8).contains(statistics.sent) && statistics.sent + statistics.dropped == 13)
            #expect(statistics.waitingToSend == 0 && statistics.failed == 0)
        }
    }

    @Test func statesThatTheBrokerHasLostAreAFaultAndStoredAgain() async throws {
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        let stored = Recorder<String>()
        var losing = AlteredTransport(broker)
        losing.hears = { events.record($0) }
        losing.stores = { stored.record(String(decoding: $0.body, as: UTF8.self)) }
        let till = await MiniProcess("till", losing, [.outgoing(state: .lastSale, initial: Sale(total: 7))])
        await wait(for: till.bridge.statistics.sent) { $0 >= 1 }
        // That of one subject concerns those who watch it.
        events.all.first?(.lastValuesLost(subject: "shop.lastSale"))
        #expect(till.faults.count == 0)
        events.all.first?(.lastValuesLost(subject: nil))
        #expect(till.faults.all.map(\.code) == [.bridgeFailed])
        #expect(till.faults.all.first.map { "\($0)".contains("lastValuesLost") } == true)
        await wait(for: till.bridge.statistics.sent) { $0 >= 2 }
        try await till.stop()
        #expect(stored.all == [#"{"total":7}"#, #"{"total":7}"#])
    }
}
