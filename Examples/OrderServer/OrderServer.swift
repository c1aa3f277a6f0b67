import ArgumentParser
import Channels
import ChannelsBridge
import ChannelsInspector
import ChannelsObservability
import ChannelsSQLite
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

struct Order: Codable, Sendable {
    var dish: String
}

struct Meal: ResponseCodable, Sendable {
    var dish: String
    var cook: Int32
}

extension ChannelName<Order> {
    /// The orders that a server accepts.
    static var ordered: Self { "kitchen.ordered" }
    /// This process's share of the orders that all servers have accepted.
    static var cooking: Self { "kitchen.cooking" }
}

extension ChannelName<Meal> {
    static var cooked: Self { "kitchen.cooked" }
}

/// Accepts orders, cooks its share of them, and shows every page what any server has cooked.
@main
struct OrderServer: AsyncParsableCommand {
    @Option(help: "The port, on 127.0.0.1.") var port = 8080
    @Option(help: "The file that connects the servers.") var file = "orders.sqlite"
    @Option(help: "The port of the inspector's page; none by default.") var inspector: Int?

    func run() async throws {
        let logger = Logger(label: "order-server") { StreamLogHandler.standardError(label: $0) }
        let board = Switchboard(onFault: { _ in })
        let log = board.addInstrument(FaultLog(logger))
        let bridge = Bridge(
            "order-server",
            switchboard: board,
            // Over NATS, only this line differs.
            transport: SQLiteTransport(path: file),
            routes: [
                .outgoing(.ordered, durable: true), .incoming(.ordered, as: .cooking, durable: true), .both(.cooked),
            ]
        )
        let kitchen = Kitchen(board)
        let web = Web(board: board, bridge: bridge)
        let application = Application(
            router: web.router(),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            logger: logger
        )
        // Services are shut down in reverse order, so requests are answered before the bridge ends.
        var services: [any Service] = [BridgeService(bridge), application]
        // The inspector's page shows every message, so it has its own port, which only this machine can
        // reach.
        if let inspector { services.append(Inspector(board, port: inspector)) }
        let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
        withExtendedLifetime((log, kitchen)) {}
    }
}

actor Kitchen {
    init(_ board: Switchboard) {
        board[.cooking].listen(self) { kitchen, order in
            // The order is acknowledged when this closure returns, so the others are told first. If it
            // throws, or the process is killed, the order is delivered again.
            try await kitchen.cook(order)
            await board[.cooked].postAndWait(Meal(dish: order.dish, cook: ProcessInfo.processInfo.processIdentifier))
        }
    }

    private func cook(_ order: Order) async throws { try await Task.sleep(for: .milliseconds(10)) }
}

struct Web {
    let board: Switchboard
    let bridge: Bridge

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.post("orders") { request, context in
            try await accept(request.decode(as: Order.self, context: context))
        }
        router.get("events") { request, _ in events(request) }
        router.get("ready") { _, _ in bridge.status.value.isReady ? HTTPResponse.Status.ok : .serviceUnavailable }
        return router
    }

    /// Answers when the order is stored. From then on, it is certain that one of the servers will cook it.
    private func accept(_ order: Order) async throws -> HTTPResponse.Status {
        // Otherwise the order would wait in the bridge, and the client would wait for its answer.
        guard bridge.status.value.isReady else { throw later("not connected") }
        let report = await board[.ordered].postAndWait(order)
        if report.isComplete { return .accepted }
        switch report.failures.first?.error {
        case let error as BridgeError where error.code == .bufferFull: throw later("too many orders at once")
        case let error as BridgeError where error.code == .unencodable:
            throw HTTPError(.badRequest, message: "\(error)")
        default: throw later("the order could not be stored")
        }
    }

    private func later(_ message: String) -> HTTPError {
        HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: message)
    }

    /// Sends the meals as server-sent events. A page that reads slowly misses the oldest ones.
    private func events(_ request: Request) -> Response {
        let meals = board[.cooked].messages(buffering: .newest(100))
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init { writer in
                // This ends when the page is closed…
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await writer.write(ByteBuffer(string: ": open\n\n"))
                    // …and when the server shuts down, which otherwise waits for every open page.
                    for await meal in meals.cancelOnGracefulShutdown() {
                        let json = String(decoding: try JSONEncoder().encode(meal), as: UTF8.self)
                        try await writer.write(ByteBuffer(string: "data: \(json)\n\n"))
                    }
                }
                try await writer.finish(nil)
            }
        )
    }
}
