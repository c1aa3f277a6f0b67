import Channels
import ChannelsBridge
import ChannelsSQLite
import ServiceLifecycle

#if NATS
import ChannelsNATS
#endif

/// What joins the till and the office where they are two processes.
enum Link: Sendable {
    /// A file, on one machine.
    case file(String)
    /// A NATS server.
    case nats(String)
}

/// Joins the till and the office. Nothing else of this program knows whether they are two processes.
enum Bridges {
    static func service(_ link: Link, _ shop: Shop) throws -> any Service {
        let routes: [BridgeRoute] =
            switch shop.role {
            case .till: [.outgoing(.rung, durable: true), .incoming(state: .billsBooked, initial: BillsBooked())]
            case .office, .shop:
                [.incoming(.rung, durable: true), .outgoing(state: .billsBooked, initial: BillsBooked())]
            }
        return BridgeService(
            bridge: Bridge(
                shop.role.rawValue,
                switchboard: shop.board,
                transport: try transport(link, shop.role),
                routes: routes
            )
        )
    }

    private static func transport(_ link: Link, _ role: Role) throws -> any Transport {
        switch link {
        case .file(let path): return SQLiteTransport(path: path)
        case .nats(let url): return try nats(url, role)
        }
    }

    #if NATS
    private static func nats(_ url: String, _ role: Role) throws -> any Transport {
        // Stored by the broker until the office has booked them: one at a time, so that the order stays.
        var sales = NATSStream("STOREFRONT", subjects: ["till.>"])
        sales.ageLimit = .seconds(7 * 24 * 60 * 60)
        var configuration = NATSConfiguration(servers: [url], name: role.rawValue)
        configuration.streams = [sales]
        configuration.deliveries.unsettledLimit = 1
        // What a process that was killed had not booked goes to the next one after this time.
        configuration.deliveries.acknowledgementWait = .seconds(3)
        return NATSTransport(configuration)
    }
    #else
    struct NotThere: Error, CustomStringConvertible {
        let description = "built without NATS: swift run --traits NATS Storefront --nats URL, or use --file PATH"
    }

    private static func nats(_ url: String, _ role: Role) throws -> any Transport { throw NotThere() }
    #endif

    private struct BridgeService: Service {
        let bridge: Bridge

        func run() async throws {
            try await cancelWhenGracefulShutdown { try await bridge.run() }
        }
    }
}
