import Channels
import ChannelsInspector
import Logging
import ServiceLifecycle

/// Which part of the shop this process is.
enum Role: String, CaseIterable, Sendable {
    /// Everything.
    case shop
    /// Only the feed. What it rings up is booked in another process.
    case till
    /// Everything except the feed.
    case office
}

/// The objects of one process, and its services. They know the switchboard, but not each other.
struct Shop {
    var role = Role.shop
    var port = 8080
    var directory = ".storefront"
    var rate = 2.0
    /// The port of the inspector's page; nil for none.
    var inspector: Int?
    var postman: (any Postman)?
    var onRunning: @Sendable (_ port: Int) -> Void = { _ in }

    let board = Switchboard()
    var logger = Logger(label: "storefront")

    /// Returns the services in the order in which they start. They end in reverse order, so that nothing more
    /// is rung up when the last sale is booked, and nothing more is booked when the last receipt is sent.
    func services(_ bridge: (any Service)? = nil) throws -> [any Service] {
        var services: [any Service] = []
        if let inspector { services.append(Inspector(board, port: inspector)) }
        if role != .till { services += try office() }
        if let bridge { services.append(bridge) }
        if role != .office, rate > 0 {
            services.append(Feed(board: board, bills: try Bills(), rate: rate, logger: logger))
        }
        return services
    }

    private func office() throws -> [any Service] {
        let store = try LedgerStore(directory: directory)
        let present = try store.office()
        let office = board.state(.office, initial: present)
        let events = PageEvents(office)
        let ledger = try Ledger(store, on: board)
        let web = Web(board: board, ledger: ledger, events: events, logger: logger)
        return [
            Staff(members: [FraudCheck(on: board, logger: logger), StockKeeper(on: board, logger: logger)]),
            try MailQueue(store, postman ?? LoggingPostman(logger: logger), on: board, logger: logger),
            events,
            try web.application(port: port, onRunning: onRunning),
        ]
    }
}

/// Keeps objects alive that only listen, because channels hold the owners of listeners weakly.
private struct Staff: Service {
    let members: [any AnyObject & Sendable]

    func run() async throws { try await gracefulShutdown() }
}

extension Task where Success == Never, Failure == Never {
    /// Whether the program is shutting down, or another service has failed.
    static var isEnding: Bool { isShuttingDownGracefully || isCancelled }
}
