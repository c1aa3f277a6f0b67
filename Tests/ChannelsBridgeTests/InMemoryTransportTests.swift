import ChannelsBridge
import ChannelsBridgeTesting
import Testing

struct InMemoryTransportTests {
    @Test(arguments: TransportConformance.checks)
    func inMemoryTransportConforms(to check: TransportConformance.Check) async {
        let broker = InMemoryBroker(limits: .init(replayedMessages: 1_000))
        let suite = TransportConformance { transport, body in
            // The suite hands back what it was given below.
            let transport = transport as! InMemoryTransport
            transport.breakConnection()
            try await body()
            transport.restoreConnection()
        } makeTransport: {
            InMemoryTransport(broker)
        }
        let outcome = await suite.run(check)
        #expect(outcome.isAcceptable && outcome.skipped == nil, "\(outcome)")
    }
}
