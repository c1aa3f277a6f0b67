import Channels
import ChannelsBridge
import ChannelsTesting
import Synchronization
import Testing

/// A bridge whose broker is not there at the start, and one that runs again.
@Suite(.hangLimit)
struct WaitingForTheBrokerTests {
    private let broker = InMemoryBroker()

    /// A transport that cannot connect until a gate is open.
    private func transport(
        until gate: Gate,
        _ error: BridgeError = BridgeError(.notConnected, detail: "nobody is there")
    ) -> AlteredTransport {
        var transport = AlteredTransport(broker)
        transport.connects = { if !gate.isOpen { throw error } }
        return transport
    }

    @Test(arguments: [false, true])
    func whatIsPostedBeforeTheBrokerIsThereIsSentInOrder(durable: Bool) async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, durable: durable)])
        let (heard, token) = kitchen.recorder(.sold)
        let gate = Gate()
        let clock = ManualClock()
        let till = await MiniProcess(
            "till",
            transport(until: gate),
            [.outgoing(.sold, durable: durable)],
            configuration: .quick.with {
                $0.clock = clock
                $0.backoff = Backoff(first: .seconds(1), limit: .seconds(60))
            },
            waits: false
        )
        let waiting = await till.bridge.status.first { $0.reason != nil }
        #expect(waiting?.phase == .connecting && waiting?.reason?.code == .notConnected)
        #expect(!till.bridge.status.value.isReady)
        for total in 0..<100 { till.board[.sold].post(Sale(total: total)) }
        _ = await clock.sleeps.first(1)
        clock.advance(by: .seconds(1))
        _ = await clock.sleeps.first(2)
        gate.open()
        clock.advance(by: .seconds(2))
        try await till.bridge.waitUntilReady()
        #expect(await heard.first(100).map(\.total) == Array(0..<100))
        // One for each reason, not for each attempt.
        #expect(till.faults.all.filter { $0.code == .bridgeFailed }.count == 1)
        #expect(Array(clock.sleeps.all.prefix(2)) == [.seconds(1), .seconds(2)])
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func whatDoesNotFitWhileABridgeWaitsIsDroppedAndCounted() async throws {
        let till = await MiniProcess(
            "till",
            transport(until: Gate()),
            [.outgoing(.sold, durable: true)],
            configuration: .quick.with {
                $0.buffer.messages = 24
                $0.backoff = Backoff(first: .seconds(60), limit: .seconds(60))
            },
            waits: false
        )
        for total in 0..<5 { till.board[.sold].post(Sale(total: total)) }
        #expect(till.bridge.statistics.waitingToSend == 3 && till.bridge.statistics.dropped == 2)
        await #expect { try await till.stop() } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        #expect(till.bridge.statistics.waitingToSend == 0 && till.bridge.statistics.dropped == 5)
    }

    @Test func aBridgeThatWaitsForItsBrokerEndsWhenItIsCancelled() async throws {
        let till = await MiniProcess(
            "till",
            transport(until: Gate()),
            [.outgoing(.sold), .both(.ordered, durable: true), .both(state: .lastSale, initial: Sale(total: 0))],
            configuration: .quick.with { $0.backoff = Backoff(first: .seconds(600), limit: .seconds(600)) },
            waits: false
        )
        _ = await till.bridge.status.first { $0.reason != nil }
        try await till.stop()
        #expect(till.bridge.status.value.phase == .ended && till.bridge.status.value.reason == nil)
    }

    /// Another connection would use up the deliveries of messages that other routes have fetched.
    @Test(arguments: [BridgeError.Code.timedOut, .notConnected, .notStored])
    func aSubscriptionThatFailsForNowIsMadeAgainOnTheSameConnection(_ code: BridgeError.Code) async throws {
        let failures = Atomic<Int>(0)
        let calls = Recorder<String>()
        var transport = AlteredTransport(broker)
        transport.connects = { calls.record("connect") }
        transport.closes = { calls.record("close") }
        transport.subscribes = { subscription in
            guard subscription.pattern.text == "kitchen.ordered" else { return }
            if failures.wrappingAdd(1, ordering: .relaxed).oldValue < 3 { throw BridgeError(code) }
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold, durable: true)])
        for total in 0..<3 { #expect(await till.board[.sold].postAndWait(Sale(total: total)).isComplete) }
        let heard = Recorder<String>()
        let kitchen = await MiniProcess(
            "kitchen",
            transport,
            [
                .incoming(.sold, durable: true), .incoming(.ordered, durable: true),
                .both(state: .lastSale, initial: Sale(total: 0)),
            ],
            configuration: .quick.with { $0.deliveryLimit = 2 }
        ) { board, _ in
            board[.sold].posts.listen(board) { _, post in
                heard.record("\(post.message.total) \(post.delivery?.attempt ?? 0)")
            }
        }
        #expect(await heard.first(3) == ["0 1", "1 1", "2 1"])
        #expect(kitchen.faults.all.filter { $0.code == .bridgeFailed }.count == 1)
        #expect(calls.all == ["connect"])
        try await till.stop()
        try await kitchen.stop()
        #expect(calls.all == ["connect", "close"])
        #expect(kitchen.bridge.statistics.received == 3 && kitchen.deadLetters.count == 0)
    }

    @Test func aBridgeRunsAgainAfterItHasEnded() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        let board = Switchboard()
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: InMemoryTransport(broker),
            routes: [
                .outgoing(.sold), .both(.ordered, durable: true), .both(state: .lastSale, initial: Sale(total: 0)),
            ]
        )
        for run in 0..<3 {
            let running = Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
            #expect(board[.sold].post(Sale(total: run)) == 1)
            running.cancel()
            try await running.value
            #expect(bridge.status.value.phase == .ended)
            #expect(board[.sold].post(Sale(total: -1)) == 0)
        }
        #expect(await heard.first(3).map(\.total) == [0, 1, 2])
        #expect(bridge.statistics.sent >= 3 && bridge.statistics.dropped == 0)
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aBridgeRunsAgainAfterAFailureAndItsCountersContinue() async throws {
        let gate = Gate()
        let board = Switchboard(onFault: { _ in })
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: transport(until: gate, BridgeError(.authenticationFailed)),
            routes: [.outgoing(.ordered, durable: true), .outgoing(.sold)]
        )
        board[.ordered].post(Order(dish: "lost"))
        board[.sold].post(Sale(total: 0))
        await #expect { try await bridge.run() } throws: { ($0 as? BridgeError)?.code == .authenticationFailed }
        #expect(bridge.status.value.reason?.code == .authenticationFailed)
        await #expect { try await bridge.waitUntilReady() } throws: {
            ($0 as? BridgeError)?.code == .authenticationFailed
        }
        let lost = bridge.statistics
        #expect(lost.dropped + lost.failed == 2 && lost.waitingToSend == 0)
        gate.open()
        let running = Task { try await bridge.run() }
        _ = await bridge.status.first { $0.isReady }
        #expect(await board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        running.cancel()
        try await running.value
        let statistics = bridge.statistics
        #expect(statistics.sent == 1 && statistics.dropped + statistics.failed == 2)
    }

    @Test func aBridgeRunsOnceAtATime() async throws {
        let bridge = Bridge("till", switchboard: Switchboard(), transport: InMemoryTransport(broker), routes: [])
        let task = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        await #expect { try await bridge.run() } throws: { ($0 as? BridgeError)?.code == .alreadyRunning }
        #expect(bridge.status.value.isReady)
        task.cancel()
        try await task.value
        // Whoever waits before the next run has begun waits for it.
        let ready = Task { try await bridge.waitUntilReady() }
        let again = Task { try await bridge.run() }
        try await ready.value
        again.cancel()
        try await again.value
    }

    @Test func theStatusSaysWhyAConnectionIsLost() async throws {
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var telling = AlteredTransport(broker)
        telling.hears = { events.record($0) }
        let till = await MiniProcess("till", telling, [.both(.sold)])
        let tell = try #require(events.all.first)
        tell(.disconnected(reason: BridgeError(.notConnected, detail: "the cable")))
        #expect(till.bridge.status.value.phase == .reconnecting)
        #expect(till.bridge.status.value.reason?.detail == "the cable")
        tell(.failed(BridgeError(.authenticationFailed, detail: "for now")))
        #expect(till.bridge.status.value.reason?.code == .authenticationFailed)
        tell(.reconnected(gap: .zero, unsent: 0))
        #expect(till.bridge.status.value.isReady && till.bridge.status.value.reason == nil)
        try await till.stop()
    }
}
