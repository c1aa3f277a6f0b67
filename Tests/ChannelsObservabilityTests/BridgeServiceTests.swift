#if Observability
import Channels
import ChannelsBridge
import ChannelsObservability
import ChannelsTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite(.hangLimit)
struct BridgeServiceTests {
    @Test func atAGracefulShutdownTheBridgeSendsWhatWaits() async throws {
        let broker = InMemoryBroker()
        let till = Switchboard(onFault: { _ in })
        let office = Switchboard(onFault: { _ in })
        let heard = Recorder<Int>()
        let token = office[.sold].listen { sale in heard.record(sale.total) }
        let routes: [BridgeRoute] = [.outgoing(.sold, durable: true)]
        let sender = Bridge("till", switchboard: till, transport: InMemoryTransport(broker), routes: routes)
        let receiver = Bridge(
            "office",
            switchboard: office,
            transport: InMemoryTransport(broker),
            routes: [.incoming(.sold, durable: true)]
        )
        let receiving = Task { try await receiver.run() }
        for total in 0..<100 { till[.sold].post(Sale(total: total)) }
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await BridgeService(sender).run() }
                await till[.sold].postAndWait(Sale(total: 100))
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        await wait(for: heard.all.count) { $0 >= 101 }
        #expect(heard.all == Array(0...100))
        receiving.cancel()
        try await receiving.value
        withExtendedLifetime(token) {}
    }
}
#endif
