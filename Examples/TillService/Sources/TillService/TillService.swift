import Channels
import ChannelsBridge
import ChannelsObservability
import Logging
import ServiceLifecycle

/// A till and an office, joined by a broker, that stop at SIGTERM or SIGINT without losing a sale.
///
/// Here both are in one process, and the broker is in memory. With the trait NATS each has a process of its
/// own and a `NATSTransport`; nothing else changes.
@main
struct TillService {
    static func main() async throws {
        let logger = Logger(label: "till-service")
        let broker = InMemoryBroker()
        let (till, office) = (Switchboard(onFault: { _ in }), Switchboard(onFault: { _ in }))
        let logs = [till, office].map { $0.add(FaultLog(logger)) }
        let ledger = Ledger()
        await ledger.listen(to: office)
        let clerk = Till(till)
        let ready = till[.sold].listen(once: true) { _ in logger.info("open") }

        // Shut down in reverse: the till stops, its bridge sends what waits, then the office takes it in.
        let group = ServiceGroup(
            services: [
                BridgeService(bridge("office", office, broker, .incoming(.sold, durable: true))),
                BridgeService(bridge("till", till, broker, .outgoing(.sold, durable: true))),
                clerk,
            ],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        try await group.run()

        let (sold, written) = (await clerk.sold, await ledger.sales)
        let isComplete = written == Array(1...max(sold, 1))
        print("sold \(sold), written \(written.count)\(isComplete ? "" : ", not all or not in order")")
        withExtendedLifetime((logs, ready)) {}
    }

    private static func bridge(
        _ name: String,
        _ board: Switchboard,
        _ broker: InMemoryBroker,
        _ route: BridgeRoute
    ) -> Bridge {
        Bridge(name, switchboard: board, transport: InMemoryTransport(broker), routes: [route])
    }
}
