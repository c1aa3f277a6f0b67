#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS

extension RequestName<Bool, Totals> {
    /// Asks for the totals that the kitchen has received; `true` says that the till closes.
    fileprivate static var kitchenTotals: Self { "kitchen.totals" }
}

/// The till in one process and the kitchen in another. Neither is written for that: the objects are the same,
/// with a bridge between their switchboards.
@MainActor
enum OverNATS {
    /// - Returns: Whether everything went well.
    static func run(_ url: String, _ sales: [Sale]) async -> Bool {
        do {
            if try await isKitchenOpen(url) { return try await till(url, sales) }
            return try await kitchen(url)
        } catch {
            Input.report("tour: \(error)")
            return false
        }
    }

    /// Whether there is a kitchen. The process that starts first becomes the kitchen.
    private static func isKitchenOpen(_ url: String) async throws -> Bool {
        let board = Switchboard()
        let probe = bridge("probe", board, url, [.asking(.kitchenTotals)])
        let running = try await probe.start()
        defer { running.cancel() }
        return (try? await board.requests(.kitchenTotals).ask(false)) != nil
    }

    private static func kitchen(_ url: String) async throws -> Bool {
        heading("The kitchen")
        let board = Switchboard()
        let kitchen = Kitchen()
        await kitchen.open(board)
        let display = Display()
        display.open(board)
        let hasClosed = Channel<Void>()
        let closing = hasClosed.messages()
        let answering = board.requests(.kitchenTotals).respond { isClosing in
            let heard = await kitchen.heard
            if isClosing { hasClosed.post() }
            return heard
        }
        let bridge = bridge("kitchen", board, url, [.incoming(.sale), .answering(.kitchenTotals)])
        let running = try await bridge.start()
        say("kitchen", "open at \(url); start the till in another terminal: the same command again")
        for await _ in closing { break }
        running.cancel()
        try await running.value
        let heard = await kitchen.heard
        say("kitchen", "the till has closed: \(heard.sales) orders for \(heard.guests) guests")
        display.report()
        withExtendedLifetime((kitchen, display, answering)) {}
        return true
    }

    private static func till(_ url: String, _ sales: [Sale]) async throws -> Bool {
        heading("The till")
        let board = Switchboard()
        let till = Till()
        let bridge = bridge("till", board, url, [.outgoing(.sale), .asking(.kitchenTotals)])
        let running = try await bridge.start()
        say("till", "the kitchen is in another process")
        for sale in sales { await till.ring(sale, on: board) }
        var loop = Totals()
        for sale in sales { loop.add(sale) }
        say("till", "rang \(loop.sales) sales of \(loop.bills.dollars)")
        // A request may overtake messages, so this asks again until the kitchen has received everything.
        var heard = Totals()
        for _ in 0..<100 where heard.sales < loop.sales { heard = try await board.requests(.kitchenTotals).ask(false) }
        heard = try await board.requests(.kitchenTotals).ask(true)
        say("till", "the kitchen received \(heard.sales) sales of \(heard.bills.dollars)")
        running.cancel()
        try await running.value
        say("till", heard == loop ? "They agree." : "THEY DIFFER: over core NATS a message is delivered at most once.")
        return heard == loop
    }

    private static func bridge(_ name: String, _ board: Switchboard, _ url: String, _ routes: [BridgeRoute]) -> Bridge {
        Bridge(
            name,
            switchboard: board,
            transport: NATSTransport(NATSConfiguration(servers: [url], name: "tour")),
            routes: routes
        )
    }
}
#endif
