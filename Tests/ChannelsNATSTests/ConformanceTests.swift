#if NATS
import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsNATS
import Testing

/// What every transport has to do.
@Suite(.fewServers, .hangLimit)
struct ConformanceTests {
    @Test(arguments: TransportConformance.checks)
    func transportConforms(to check: TransportConformance.Check) async throws {
        let server = try await NATSServer()
        @Sendable func configuration() -> NATSConfiguration {
            var configuration = NATSConfiguration(servers: [server.url])
            configuration.reconnectWait = .milliseconds(20)
            configuration.deliveries.acknowledgementWait = .seconds(2)
            // Some checks publish thousands at a time, which takes long on a busy machine.
            configuration.acknowledgementTimeout = .patience
            configuration.streams = [NATSStream("CONFORMANCE", subjects: ["conformance.>"])]
            return configuration
        }
        let suite = TransportConformance(
            timeout: .patience,
            interrupt: { transport, body in
                server.kill()
                try await body()
                try await server.start()
                try await hasAnswered(transport)
            },
            makeOther: {
                var other = configuration()
                other.deliveries.acknowledgementWait = .seconds(4)
                other.deliveries.pendingLimit = 7
                return NATSTransport(other)
            },
            makeTransport: { NATSTransport(configuration()) }
        )
        let outcome = await suite.run(check)
        // A server in the test has no older copy of its files, and no transactions.
        let isPossible = check.requirement != .rollBack && check.requirement != .transactions
        #expect((outcome.skipped == nil) == isPossible)
        #expect(outcome.isAcceptable, "\(outcome)")
    }

    /// Returns when the server answers again that nobody responds.
    private func hasAnswered(_ transport: any Transport) async throws {
        for _ in 0..<1_000 {
            do {
                _ = try await transport.request(
                    try TransportMessage(subject: "probe", body: []),
                    timeout: .milliseconds(200)
                )
            } catch let error as BridgeError where error.code == .noResponder {
                return
            } catch let error as BridgeError where error.code == .timedOut {}
        }
        Issue.record("the connection was not restored")
    }
}
#endif
