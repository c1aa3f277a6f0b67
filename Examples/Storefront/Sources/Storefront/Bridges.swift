import Channels
import ChannelsBridge
import ChannelsSQLite
import Foundation
import ServiceLifecycle

#if NATS
import ChannelsNATS
#endif

/// Joins the till and the office if they are two processes. Nothing else in this program knows whether they
/// are, and the routes do not depend on the transport.
enum Bridges {
    /// - Parameter url: A NATS server; nil for the file that has the ledger.
    static func service(_ url: String?, _ shop: Shop) throws -> any Service {
        let routes: [BridgeRoute] =
            switch shop.role {
            case .till: [.outgoing(.rung, durable: true), .incoming(state: .billsBooked, initial: nil)]
            case .office, .shop: [.incoming(.rung, durable: true), .outgoing(state: .billsBooked, initial: nil)]
            }
        return BridgeService(
            bridge: Bridge(
                shop.role.rawValue,
                switchboard: shop.board,
                transport: try url.map { try overNATS($0, shop) } ?? overFile(shop.directory),
                routes: routes
            )
        )
    }

    /// After this time, sales that a killed process had not booked go to the next one.
    private static let wait = Duration.seconds(3)

    /// The sales are in the file until the office has booked them.
    static func overFile(_ directory: String) throws -> any Transport {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        // `.normal`, like the ledger, which says why.
        return SQLiteTransport(
            SQLiteConfiguration(path: LedgerStore.path(directory), synchronous: .normal)
        )
    }

    #if NATS
    private static func overNATS(_ url: String, _ shop: Shop) throws -> any Transport {
        // The broker stores sales until the office has booked them, one at a time, so that they stay in
        // order.
        var sales = NATSStream("STOREFRONT", subjects: ["till.>"])
        sales.limits.age = .seconds(7 * 24 * 60 * 60)
        var configuration = NATSConfiguration(servers: [url], name: shop.role.rawValue)
        configuration.streams = [sales]
        configuration.deliveries.pendingLimit = 1
        configuration.deliveries.acknowledgementWait = wait
        return NATSTransport(configuration)
    }
    #else
    struct NotThere: Error, CustomStringConvertible {
        let description = "this build has no NATS support; run: swift run --traits NATS Storefront --nats URL"
    }

    private static func overNATS(_ url: String, _ shop: Shop) throws -> any Transport { throw NotThere() }
    #endif

    private struct BridgeService: Service {
        let bridge: Bridge

        func run() async throws {
            try await cancelWhenGracefulShutdown { try await bridge.run() }
        }
    }
}
