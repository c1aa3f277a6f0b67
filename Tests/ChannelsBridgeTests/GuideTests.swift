import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsTesting
import Testing

/// The code of the guides, run.
@Suite(.hangLimit)
struct GuideTests {
    @Test func severalSwitchboardsInOneProcess() async throws {
        let tillBoard = Switchboard()
        let kitchenBoard = Switchboard()
        let heard = Recorder<Sale>()
        let token = kitchenBoard[.sold].listen { sale in heard.record(sale) }
        let running = Task {
            let broker = InMemoryBroker()
            let till = Bridge(
                "till",
                switchboard: tillBoard,
                transport: InMemoryTransport(broker),
                routes: [.outgoing(.sold)]
            )
            let kitchen = Bridge(
                "kitchen",
                switchboard: kitchenBoard,
                transport: InMemoryTransport(broker),
                routes: [.incoming(.sold)]
            )
            async let tillRuns: Void = till.run()
            async let kitchenRuns: Void = kitchen.run()
            _ = await kitchen.status.first { $0.isReady }
            tillBoard[.sold].post(Sale(total: 12))
            _ = try await (tillRuns, kitchenRuns)
        }
        #expect(await heard.first(1) == [Sale(total: 12)])
        running.cancel()
        try await running.value
        withExtendedLifetime(token) {}
    }

    /// A transport with the least there can be: at most once.
    actor LeastTransport: Transport {
        nonisolated let capabilities: TransportCapabilities = []
        private let client: InMemoryTransport

        init(_ broker: InMemoryBroker) { client = InMemoryTransport(broker) }

        func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
            try await client.connect(onEvent: onEvent)
        }

        func publish(_ message: TransportMessage, durable: Bool) async throws {
            guard !durable else { throw BridgeError(.unsupported, subject: message.subject) }
            try await client.publish(message, durable: false)
        }

        func subscribe(
            _ subscription: TransportSubscription,
            onMessage: @escaping @Sendable (InboundMessage) -> Void
        ) async throws {
            try await client.subscribe(to: subscription.pattern, onMessage: onMessage)
        }

        func close(timeout: Duration) async throws { try await client.close(timeout: timeout) }
    }

    @Test(arguments: TransportConformance.checks)
    func aTransportWithTheLeastConforms(to check: TransportConformance.Check) async {
        let broker = InMemoryBroker()
        let outcome = await TransportConformance(timeout: .patience) { LeastTransport(broker) }.run(check)
        #expect(outcome.isAcceptable, "\(outcome)")
        #expect((outcome.skipped != nil) == (!check.needs.isEmpty || check.interrupts))
    }

    @Test func aTransportWithTheLeastRefusesTheRest() async throws {
        let transport = LeastTransport(InMemoryBroker())
        try await transport.connect { _ in }
        let message = try TransportMessage(subject: "a", body: [])
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await transport.request(message, timeout: .seconds(1)) },
            { try await transport.respond(to: "a") { _ in } },
            { _ = try await transport.store(message) },
            { try await transport.watch("a") { _ in } },
        ]
        for call in calls { await #expect { try await call() } throws: { ($0 as? BridgeError)?.code == .unsupported } }
        try await transport.close(timeout: .seconds(1))
    }
}
