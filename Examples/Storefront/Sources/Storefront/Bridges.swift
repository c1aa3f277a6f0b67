import Channels
import ServiceLifecycle

#if NATS
import ChannelsBridge
import ChannelsNATS
#endif

/// Joins the till and the office where they are two processes. Nothing else of this program knows whether they are.
enum Bridges {
    #if NATS
    static func service(_ url: String, _ shop: Shop) throws -> any Service {
        // Stored by the broker until the office has booked them: one at a time, so that the order stays.
        var sales = NATSStream("STOREFRONT", subjects: ["till.>"])
        sales.ageLimit = .seconds(7 * 24 * 60 * 60)
        var configuration = NATSConfiguration(servers: [url], name: shop.role.rawValue)
        configuration.streams = [sales]
        configuration.deliveries.unsettledLimit = 1
        // What a process that was killed had not booked goes to the next one after this time.
        configuration.deliveries.acknowledgementWait = .seconds(3)
        let routes: [BridgeRoute] =
            switch shop.role {
            case .till: [.outgoing(.rung, durable: true), .asking(.billsBooked)]
            case .office, .shop: [.incoming(.rung, durable: true), .answering(.billsBooked)]
            }
        return BridgeService(
            bridge: Bridge(
                shop.role.rawValue,
                switchboard: shop.board,
                transport: NATSTransport(configuration),
                routes: routes
            )
        )
    }

    private struct BridgeService: Service {
        let bridge: Bridge

        func run() async throws {
            try await cancelWhenGracefulShutdown { try await bridge.run() }
        }
    }
    #else
    struct NotThere: Error, CustomStringConvertible {
        let description = "built without NATS: swift run --traits NATS Storefront --nats URL"
    }

    static func service(_ url: String, _ shop: Shop) throws -> any Service { throw NotThere() }
    #endif
}
