import Channels
import ChannelsBridge
import ChannelsTesting
import Synchronization
import Testing

/// Bridges that end before they are ready.
@Suite(.hangLimit)
struct EarlyEndTests {
    private let broker = InMemoryBroker()

    @Test func whatIsLostWithoutAConnectionIsAnError() async throws {
        let bridge = Bridge(
            "till",
            switchboard: Switchboard(onFault: { _ in }),
            transport: InMemoryTransport(broker),
            routes: [.outgoing(.sold, durable: true)]
        )
        try await bridge.send(Sale(total: 1), to: .sold)
        let running = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await bridge.run()
        }
        await #expect { try await running.value } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        #expect(bridge.statistics.dropped == 1 && bridge.status.value.reason?.code == .closingTimedOut)
    }

    /// Whatever kind of route carries it.
    @Test(arguments: [
        BridgeRoute.both(state: .lastSale, initial: Sale(total: 0)), .both(statesMatching: "shop.*", of: Sale.self),
    ])
    func aStateThatIsNotStoredInTimeIsAnError(route: BridgeRoute) async throws {
        let (stores, gate) = (Tally(), Gate())
        var silent = AlteredTransport(broker)
        silent.stores = { message in
            stores.add()
            await gate.wait()
            throw BridgeError(.closed, subject: message.subject)
        }
        silent.closes = { gate.open() }
        let till = await MiniProcess(
            "till",
            silent,
            [route],
            configuration: .quick.with { $0.closeTimeout = .milliseconds(1) }
        )
        till.board.state(.lastSale, initial: Sale(total: 0)).set(Sale(total: 7))
        await stores.wait(until: 1)
        await #expect { try await till.stop() } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
    }

    /// The connection is there, and one route cannot be subscribed yet.
    @Test(arguments: [true, false])
    func whatIsQueuedIsSentIfTheBridgeHasConnected(isCancelled: Bool) async throws {
        let stored = Recorder<String>()
        let wire = try await connectedTransport(broker)
        try await wire.subscribe(to: "shop.sold", durableName: "reader") {
            stored.record(String(decoding: $0.message.body, as: UTF8.self))
            $0.settle?(.acknowledged)
        }
        var refusing = AlteredTransport(broker)
        refusing.subscribes = { _ in throw BridgeError(isCancelled ? .notStored : .permissionDenied) }
        let board = Switchboard(onFault: { _ in })
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: refusing,
            routes: [.outgoing(.sold, durable: true), .incoming(.ordered, durable: true), .outgoing(.ordered)],
            configuration: .quick
        )
        for total in 0..<3 { try await bridge.send(Sale(total: total), to: .sold) }
        board[.ordered].post(Order(dish: "soup"))
        let running = Task { try await bridge.run() }
        if isCancelled {
            _ = await bridge.status.first { $0.reason != nil }
            running.cancel()
            try await running.value
        } else {
            await #expect { try await running.value } throws: { ($0 as? BridgeError)?.code == .permissionDenied }
        }
        #expect(bridge.statistics.sent == 4 && bridge.statistics.dropped == 0)
        #expect(await stored.first(3) == (0..<3).map { #"{"total":\#($0)}"# })
        try await wire.close(timeout: .seconds(1))
    }

    @Test func aTransportThatAnotherBridgeUsesIsLeftAlone() async throws {
        let transport = InMemoryTransport(broker)
        let till = await MiniProcess("till", transport, [.outgoing(.sold, durable: true), .incoming(.ordered)])
        let second = Bridge(
            "kitchen",
            switchboard: Switchboard(),
            transport: transport,
            routes: [.incoming(.sold, durable: true)]
        )
        await #expect { try await second.run() } throws: { ($0 as? BridgeError)?.code == .alreadyRunning }
        #expect(await till.board[.sold].postAndWait(Sale(total: 1)).isComplete)
        let (heard, token) = till.recorder(.ordered)
        let other = await MiniProcess("other", InMemoryTransport(broker), [.outgoing(.ordered)])
        other.board[.ordered].post(Order(dish: "soup"))
        #expect(await heard.first(1).map(\.dish) == ["soup"])
        try await other.stop()
        try await till.stop()
        withExtendedLifetime(token) {}
    }
}
