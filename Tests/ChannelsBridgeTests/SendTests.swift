import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Posts that wait for room.
@Suite(.hangLimit)
struct SendTests {
    private let broker = InMemoryBroker()

    /// A bridge that waits for its broker, with room for a few messages.
    private func till(_ gate: Gate, limit: Int) async -> MiniProcess {
        var transport = AlteredTransport(broker)
        transport.publishes = { message in
            await gate.wait()
            return message
        }
        return await MiniProcess(
            "till",
            transport,
            [.outgoing(.sold, durable: true), .outgoing(.ordered)],
            configuration: .quick.with { $0.buffer.messages = 8 * limit }
        )
    }

    @Test func sendingWaitsForRoomAndLosesNothing() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, durable: true)])
        let (heard, token) = kitchen.recorder(.sold)
        let gate = Gate()
        let till = await till(gate, limit: 4)
        let sent = Recorder<Int>()
        let sending = Task<Void, any Error> {
            for total in 0..<100 {
                let reached = try await till.bridge.send(Sale(total: total), to: .sold)
                sent.record(total * reached)
            }
        }
        _ = await sent.first(4)
        // A post does not wait.
        till.board[.sold].post(Sale(total: -1))
        #expect(sent.count == 4 && till.bridge.statistics.dropped == 1)
        gate.open()
        try await sending.value
        #expect(await heard.first(100).map(\.total) == Array(0..<100))
        try await till.stop()
        try await kitchen.stop()
        #expect(till.bridge.statistics.sent == 100 && till.bridge.statistics.dropped == 1)
        withExtendedLifetime(token) {}
    }

    /// Whatever `send` has returned for is published, and what is not is thrown.
    @Test func sendingWhileTheBridgeEndsLosesNothingWithoutAnError() async throws {
        for _ in 0..<20 {
            let till = await MiniProcess(
                "till",
                InMemoryTransport(broker),
                [.outgoing(.sold, durable: true)],
                configuration: .quick.with { $0.buffer.messages = 32 }
            )
            let reached = Recorder<Int>()
            let senders = (0..<3).map { number in
                Task {
                    while true { reached.record(try await till.bridge.send(Sale(total: number), to: .sold)) }
                }
            }
            _ = await reached.first(50)
            try await till.stop()
            for sender in senders {
                let result = await sender.result
                #expect { try result.get() } throws: { ($0 as? BridgeError)?.code == .closed }
            }
            #expect(reached.all.allSatisfy { $0 == 1 })
            #expect(till.bridge.statistics.sent == reached.count && till.bridge.statistics.dropped == 0)
            #expect(till.faults.count == 0)
        }
    }

    /// What listeners post because of it has no place kept: in the call, or in a task that they begin.
    @Test(arguments: [false, true]) func thePlaceIsThatOfTheMessageSent(inTask: Bool) async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, durable: true)])
        let (heard, token) = kitchen.recorder(.sold)
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(matching: "shop.*", of: Sale.self, durable: true)],
            configuration: .quick.with { $0.buffer.messages = 16 }
        )
        let last = till.board[.lastSale as ChannelName<Sale>]
        let other = till.board[.sold].listen { sale in
            if inTask { Task { last.post(sale) } } else { for _ in 0..<3 { last.post(sale) } }
        }
        for total in 0..<100 { #expect(try await till.bridge.send(Sale(total: total), to: .sold) == 2) }
        #expect(await heard.first(100).map(\.total) == Array(0..<100))
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime((token, other)) {}
    }

    /// What fills the route is its bytes. Each message is smaller than what is left at first, and larger at the
    /// end.
    @Test func sendingWaitsForBytesAndLosesNothing() async throws {
        let gate = Gate()
        var transport = AlteredTransport(broker)
        transport.publishes = { message in
            await gate.wait()
            return message
        }
        let till = await MiniProcess(
            "till",
            transport,
            [.outgoing(.ordered, durable: true)],
            configuration: .quick.with { $0.buffer.bytes = 32_000 }
        )
        let order = Order(dish: String(repeating: "x", count: 600))
        let sent = Recorder<Int>()
        let sending = Task<Void, any Error> {
            for number in 0..<500 {
                try await till.bridge.send(order, to: .ordered)
                sent.record(number)
            }
        }
        _ = await sent.first(8)
        gate.open()
        try await sending.value
        try await till.stop()
        #expect(till.bridge.statistics.sent == 500 && till.bridge.statistics.dropped == 0)
    }

    @Test func manySendersGetTheirTurnsAndLeaveNoPlaceUnused() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, durable: true)])
        let (heard, token) = kitchen.recorder(.sold)
        let gate = Gate()
        gate.open()
        let till = await till(gate, limit: 3)
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        _ = try? await till.bridge.send(Sale(total: sender * 100 + number), to: .sold)
                    }
                }
            }
        }
        let totals = await heard.first(400).map(\.total)
        for sender in 0..<8 {
            #expect(totals.filter { $0 / 100 == sender } == (0..<50).map { sender * 100 + $0 })
        }
        try await till.stop()
        try await kitchen.stop()
        #expect(till.bridge.statistics.dropped == 0)
        withExtendedLifetime(token) {}
    }

    @Test func aCancelledSenderAndAnEndedBridgePostNothing() async throws {
        let gate = Gate()
        let till = await till(gate, limit: 1)
        try await till.bridge.send(Sale(total: 0), to: .sold)
        let waiting = (0..<3).map { total in
            Task { try await till.bridge.send(Sale(total: total), to: .sold) }
        }
        waiting[0].cancel()
        await #expect(throws: CancellationError.self) { try await waiting[0].value }
        let stopping = Task { try await till.stop() }
        for task in waiting.dropFirst() {
            await #expect { try await task.value } throws: { ($0 as? BridgeError)?.code == .closed }
        }
        gate.open()
        try await stopping.value
        #expect(till.bridge.statistics.sent == 1)
        await #expect { try await till.bridge.send(Sale(total: 9), to: .sold) } throws: {
            ($0 as? BridgeError)?.code == .closed
        }
    }

    @Test func aPlaceThatNoPostTakesIsFreeAgain() async throws {
        let gate = Gate()
        gate.open()
        let till = await till(gate, limit: 1)
        let blocking = till.board[.sold].intercept { _ in .stop }
        for total in 0..<10 { #expect(try await till.bridge.send(Sale(total: total), to: .sold) == 0) }
        blocking.cancel()
        #expect(try await till.bridge.send(Sale(total: 10), to: .sold) == 1)
        try await till.stop()
        #expect(till.bridge.statistics.sent == 1)
    }

    @Test func onlyDurableRoutesMakeSendersWait() async throws {
        let gate = Gate()
        gate.open()
        let till = await till(gate, limit: 1)
        await #expect { try await till.bridge.send(Order(dish: "soup"), to: .ordered) } throws: {
            ($0 as? BridgeError)?.code == .unsupported
        }
        try await till.stop()
    }
}
