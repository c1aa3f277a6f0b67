import ArgumentParser
import Channels
import Foundation
import Logging
import ServiceLifecycle

@main
struct Storefront: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The back office of a small shop, on a page of its own.")

    @Option(help: "The port of the page, on 127.0.0.1; 0 for any that is free.")
    var port = 8080

    @Option(help: ArgumentHelp("Where the ledger is kept.", valueName: "dir"))
    var data = ".storefront"

    @Option(help: "How many bills of the feed are rung up in a second; 0 for none.")
    var rate = 2.0

    @Option(help: ArgumentHelp("The port of a second page, which shows what is said; 0 for any.", valueName: "port"))
    var inspector: Int?

    @Option(
        help: ArgumentHelp(
            "A NATS server that joins the till and the office, in place of the file of the ledger.",
            valueName: "url"
        )
    )
    var nats: String?

    @Option(help: "What to run: shop (everything), till (the feed) or office (the rest).")
    var role = Role.shop

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is a number up to 65535") }
        guard (0...65_535).contains(inspector ?? 0) else {
            throw ValidationError("--inspector is a number up to 65535")
        }
        guard rate == 0 || (0.001...10_000).contains(rate) else {
            throw ValidationError("--rate is 0, or a number from 0.001 to 10000")
        }
        guard nats == nil || role != .shop else {
            throw ValidationError("--nats needs --role till or --role office")
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { label in StreamLogHandler.standardError(label: label) }
        var shop = Shop(role: role, port: port, directory: data, rate: rate, inspector: inspector)
        shop.logger.logLevel = .notice
        shop.onRunning = { port in Self.say("Storefront is at http://127.0.0.1:\(port)/") }
        let bridge = try role == .shop ? nil : Bridges.service(nats, shop)
        let group = ServiceGroup(
            configuration: .init(
                services: try shop.services(bridge),
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: shop.logger
            )
        )
        if role == .till { Self.say("The till sends its sales to \(nats ?? data)") }
        try await group.run()
    }

    /// Prints a line without buffering, even if the output is a file.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

extension Role: ExpressibleByArgument {}
