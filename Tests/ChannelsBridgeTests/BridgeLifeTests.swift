import Channels
import ChannelsBridge
import ChannelsDiagnostics
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct BridgeLifeTests {
    private let broker = InMemoryBroker()

    @Test func cancellingEndsTheBridgeWithoutAnError() async throws {
        let routes: [BridgeRoute] = [.outgoing(.sold), .outgoing(.ordered, durable: true)]
        let till = await MiniProcess("till", InMemoryTransport(broker), routes)
        #expect(till.board.snapshot().patterns.flatMap(\.listeners).count == 2)
        try await till.stop()
        #expect(till.bridge.status.value.phase == .ended)
        // Not carried any more, and not counted as a listener.
        #expect(till.board[.sold].post(Sale(total: 1)) == 0)
        #expect(till.board.snapshot().patterns.flatMap(\.listeners).isEmpty)
        #expect(till.bridge.statistics.sent == 0)
    }

    @Test func whatWasPostedBeforeTheEndIsSent() async throws {
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold), .incoming(.ordered, durable: true)]
        )
        let (sales, salesToken) = kitchen.recorder(.sold)
        let (orders, ordersToken) = kitchen.recorder(.ordered)
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(.sold), .outgoing(.ordered, durable: true)]
        )
        for number in 0..<200 {
            till.board[.sold].post(Sale(total: number))
            till.board[.ordered].post(Order(dish: "\(number)"))
        }
        try await till.stop()
        #expect(till.bridge.statistics.sent == 400 && till.bridge.statistics.dropped == 0)
        _ = await sales.first(200)
        _ = await orders.first(200)
        try await kitchen.stop()
        #expect(kitchen.bridge.statistics.received == 400)
        withExtendedLifetime((salesToken, ordersToken)) {}
    }

    @Test func closingWhileBusyLosesNothingThatIsNotCounted() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let posting = Task {
            var reached = 0
            for number in 0..<2_000 {
                reached += till.board[.sold].post(Sale(total: number))
                if number % 16 == 0 { await Task.yield() }
            }
            return reached
        }
        _ = await heard.first(10)
        try await till.stop()
        let taken = await posting.value
        let statistics = till.bridge.statistics
        #expect(statistics.sent + statistics.failed + statistics.dropped == taken)
        #expect(await heard.first(statistics.sent).map(\.total) == Array(0..<statistics.sent))
        try await kitchen.stop()
        #expect(heard.count == statistics.sent)
        withExtendedLifetime(token) {}
    }

    /// A process with hardly any time to end, and a listener that waits.
    private func hurriedKitchen(
        _ routes: [BridgeRoute],
        _ gate: Gate
    ) async -> (MiniProcess, Recorder<Order>, ListenerToken) {
        let configuration = BridgeConfiguration.quick.with { $0.closeTimeout = .milliseconds(1) }
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), routes, configuration: configuration)
        let begun = Recorder<Order>()
        let token = kitchen.board[.ordered].listen { order in
            begun.record(order)
            await gate.wait()
        }
        return (kitchen, begun, token)
    }

    @Test func aListenerThatIsLateIsLeftAndItsMessageComesAgain() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let gate = Gate()
        let (kitchen, begun, token) = await hurriedKitchen([.incoming(.ordered, durable: true)], gate)
        till.board[.ordered].post(Order(dish: "soup"))
        _ = await begun.first(1)
        await #expect { try await kitchen.stop() } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        #expect(kitchen.bridge.status.value.phase == .ended)
        let heard = Recorder<Order>()
        let board = Switchboard()
        let next = board[.ordered].listen { order in heard.record(order) }
        let again = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            board: board
        )
        #expect(await heard.first(1) == [Order(dish: "soup")])
        gate.open()
        try await again.stop()
        try await till.stop()
        withExtendedLifetime((token, next)) {}
    }

    @Test func aBridgeEndsWhenListenersOfPassingMessagesHaveFinished() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.ordered)])
        let gate = Gate()
        let (begun, heard) = (Recorder<Order>(), Recorder<Order>())
        let token = kitchen.board[.ordered].listen { order in
            begun.record(order)
            await gate.wait()
            heard.record(order)
        }
        for number in 0..<20 { till.board[.ordered].post(Order(dish: "\(number)")) }
        _ = await begun.first(1)
        let ending = Task { try await kitchen.stop() }
        _ = await kitchen.bridge.status.first { $0.phase == .ending }
        gate.open()
        try await ending.value
        #expect(heard.count == kitchen.bridge.statistics.received && kitchen.bridge.statistics.unfinished == 0)
        try await till.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aListenerOfPassingMessagesThatIsLateIsTold() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered)])
        let gate = Gate()
        let (kitchen, begun, token) = await hurriedKitchen([.incoming(.ordered)], gate)
        for number in 0..<3 { till.board[.ordered].post(Order(dish: "\(number)")) }
        _ = await begun.first(1)
        await wait(for: kitchen.bridge.statistics.received) { $0 >= 3 }
        await #expect { try await kitchen.stop() } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        let statistics = kitchen.bridge.statistics
        #expect(statistics.received == 0 && statistics.unfinished == 3)
        gate.open()
        try await till.stop()
        withExtendedLifetime(token) {}
    }

    @Test func nothingOfABridgeRunsAfterRunAlsoPastItsDeadline() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered), .asking(.price)])
        let begun = Recorder<String>()
        let ended = Recorder<String>()
        let board = Switchboard(onFault: { _ in })
        let isCancelled = Gate()
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: InMemoryTransport(broker),
            routes: [.incoming(matching: "kitchen.*", of: Sale.self), .answering(.price)],
            configuration: .quick.with { $0.closeTimeout = .milliseconds(1) }
        ) { _ in
            begun.record("handler")
            await withTaskCancellationHandler {
                await isCancelled.wait()
            } onCancel: {
                isCancelled.open()
            }
            ended.record("handler")
        }
        let responding = board.requests(.price).respond { _ in
            begun.record("responder")
            await withTaskCancellationHandler {
                await isCancelled.wait()
            } onCancel: {
                isCancelled.open()
            }
            ended.record("responder")
            return 1
        }
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        till.board[.ordered].post(Order(dish: "of another type"))
        let asking = Task { try? await till.board.requests(.price).ask("soup") }
        _ = await begun.first(2)
        running.cancel()
        await #expect { try await running.value } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        #expect(Set(ended.all) == ["handler", "responder"])
        asking.cancel()
        _ = await asking.value
        try await till.stop()
        withExtendedLifetime(responding) {}
    }

    @Test func aBridgeThatIsCancelledBeforeItRunsEnds() async throws {
        let bridge = Bridge(
            "till",
            switchboard: Switchboard(),
            transport: InMemoryTransport(broker),
            routes: [.outgoing(.sold)]
        )
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await bridge.run()
        }
        try await task.value
        #expect(bridge.status.value.phase == .ended)
    }

    @Test func aConnectionThatFailsIsThrownAndWhoWaitsIsTold() async throws {
        let board = Switchboard(onFault: { _ in })
        var failing = AlteredTransport(broker)
        failing.connects = { throw BridgeError(.authenticationFailed, detail: "wrong password") }
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: failing,
            routes: [.outgoing(.ordered, durable: true)]
        )
        async let report = board[.ordered].postAndWait(Order(dish: "soup"))
        await #expect { try await bridge.run() } throws: { ($0 as? BridgeError)?.code == .authenticationFailed }
        let finished = await report
        #expect(!finished.isComplete || finished.reachedCount == 0)
        #expect(bridge.status.value.phase == .ended)
        #expect(bridge.statistics.sent == 0)
    }

    @Test func aRouteThatTheTransportCannotServeIsThrown() async throws {
        let needy: [(BridgeRoute, TransportCapabilities)] = [
            (.outgoing(.sold, durable: true), .durable), (.incoming(.sold, durable: true), .durable),
            (.both(state: .lastSale, initial: Sale(total: 0)), .lastValues), (.asking(.price), .requests),
            (.answering(.price), .requests), (.incoming(.sold).inGroup("books"), .groups),
        ]
        for (route, capability) in needy {
            var poor = AlteredTransport(broker)
            poor.capabilities = .all.subtracting(capability)
            let bridge = Bridge("till", switchboard: Switchboard(), transport: poor, routes: [route])
            await #expect { try await bridge.run() } throws: { ($0 as? BridgeError)?.code == .unsupported }
        }
    }

    @Test func aConnectionThatEndsForGoodEndsTheBridgeWithItsReason() async throws {
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var dying = AlteredTransport(broker)
        dying.hears = { events.record($0) }
        let till = await MiniProcess("till", dying, [.both(.sold)])
        events.all.first?(.closed(reason: BridgeError(.authenticationFailed, detail: "expired")))
        await #expect { try await till.end() } throws: { ($0 as? BridgeError)?.code == .authenticationFailed }
        #expect(till.bridge.status.value.phase == .ended)
    }

    @Test func eventsAndStatusTellOfABrokenConnection() async throws {
        let transport = InMemoryTransport(broker)
        let events = Recorder<String>()
        let tokens = Recorder<ListenerToken>()
        let till = await MiniProcess("till", transport, [.outgoing(.sold)]) { _, bridge in
            tokens.record(
                bridge.events.listen { event in
                    switch event {
                    case .connected: events.record("connected")
                    case .disconnected: events.record("disconnected")
                    case .reconnected(let gap, let unsent): events.record("reconnected \(gap >= .zero) \(unsent)")
                    default: events.record("\(event)")
                    }
                }
            )
        }
        transport.breakConnection()
        #expect(till.bridge.status.value.phase == .reconnecting)
        transport.restoreConnection()
        #expect(till.bridge.status.value.isReady)
        try await till.stop()
        #expect(events.all == ["connected", "disconnected", "reconnected true 0"])
        withExtendedLifetime(tokens) {}
    }

    @Test func anErrorWithoutACallerIsAFault() async throws {
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var telling = AlteredTransport(broker)
        telling.hears = { events.record($0) }
        let till = await MiniProcess("till", telling, [.both(.sold)])
        events.all.first?(.failed(BridgeError(.permissionDenied, subject: "shop.sold")))
        #expect(till.faults.all.contains { $0.code == .bridgeFailed && $0.channelName == "shop.sold" })
        try await till.stop()
    }

    @Test func durableMessagesPostedDuringAnInterruptionAreSentAfterIt() async throws {
        let clock = ManualClock()
        let transport = InMemoryTransport(broker)
        let configuration = BridgeConfiguration.quick.with {
            $0.clock = clock
            $0.backoff = Backoff(first: .seconds(1), limit: .seconds(1))
        }
        let till = await MiniProcess(
            "till",
            transport,
            [.outgoing(.ordered, durable: true)],
            configuration: configuration
        )
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.ordered, durable: true)])
        let (heard, token) = kitchen.recorder(.ordered)
        transport.breakConnection()
        for number in 0..<3 { till.board[.ordered].post(Order(dish: "\(number)")) }
        _ = await clock.sleeps.first(1)
        transport.restoreConnection()
        clock.advance(by: .seconds(1))
        #expect(await heard.first(3).map(\.dish) == ["0", "1", "2"])
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func messagesPostedDuringAnInterruptionWaitUpToALimit() async throws {
        let broker = InMemoryBroker(limits: InMemoryBroker.Limits(unsentMessages: 2))
        let transport = InMemoryTransport(broker)
        let till = await MiniProcess("till", transport, [.outgoing(.sold)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        transport.breakConnection()
        var reports: [DeliveryReport] = []
        for total in 0..<3 { reports.append(await till.board[.sold].postAndWait(Sale(total: total))) }
        #expect(reports.map(\.isComplete) == [true, true, false])
        #expect((reports[2].failures.first?.error as? BridgeError)?.code == .bufferFull)
        transport.restoreConnection()
        #expect(await heard.first(2).map(\.total) == [0, 1])
        try await till.stop()
        try await kitchen.stop()
        #expect(till.bridge.statistics.failed == 1 && till.bridge.statistics.sent == 2)
        withExtendedLifetime(token) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aBridgeWithALimitOfZeroTraps() async {
        await #expect(processExitsWith: .failure) {
            _ = Bridge(
                "till",
                switchboard: Switchboard(),
                transport: InMemoryTransport(InMemoryBroker()),
                routes: [],
                configuration: BridgeConfiguration(buffer: .init(messages: 0))
            )
        }
    }
    #endif

    @MainActor @Test func aBridgeMayRunOnTheMainActorAndReachItsListeners() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let board = Switchboard()
        let bridge = Bridge(
            "display",
            switchboard: board,
            transport: InMemoryTransport(broker),
            routes: [.incoming(.sold)]
        )
        let display = Display()
        board[.sold].listen(display) { me, sale in me.show(sale) }
        let running = Task { try await bridge.run() }
        _ = await bridge.status.first { $0.isReady }
        till.board[.sold].post(Sale(total: 3))
        #expect(await display.shown.first(1) == [Sale(total: 3)])
        running.cancel()
        try await running.value
        try await till.stop()
    }

    @Test func aBridgeThatIsDroppedDoesNotListenAnyMore() async throws {
        let board = Switchboard()
        do {
            let bridge = Bridge(
                "till",
                switchboard: board,
                transport: InMemoryTransport(broker),
                routes: [.outgoing(.sold), .asking(.price)]
            )
            #expect(board[.sold].post(Sale(total: 1)) == 1)
            withExtendedLifetime(bridge) {}
        }
        #expect(board[.sold].post(Sale(total: 2)) == 0)
        #expect(board.requests(.price).isEmpty)
    }
}

@MainActor
private final class Display {
    let shown = Recorder<Sale>()

    func show(_ sale: Sale) { shown.record(sale) }
}
