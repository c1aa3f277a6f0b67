#if NATS || SQLite
import Channels
import ChannelsBridge

extension RequestName<Bool, Totals> {
    /// What the kitchen has heard; `true` says that the till closes.
    static var kitchenTotals: Self { "kitchen.totals" }
}

/// The till in one process and the kitchen in the other. Neither is written for that: the same objects, with
/// a bridge between their switchboards.
@MainActor
struct TwoProcesses {
    /// What is between the processes.
    protocol Line: Sendable {
        /// Where the processes meet, for people.
        var place: String { get }
        /// Why the kitchen may have heard something else than the till rang.
        var weakness: String { get }
        /// Whether sales are stored until the kitchen has heard them.
        var isDurable: Bool { get }
        /// A transport that is not connected yet.
        func transport() -> any Transport
        /// Lets the kitchen answer questions from elsewhere.
        func answering(_ board: Switchboard) -> (routes: [BridgeRoute], token: ListenerToken?)
        /// Lets the kitchen elsewhere answer the questions of this switchboard.
        func asking(_ board: Switchboard) -> (routes: [BridgeRoute], token: ListenerToken?)
    }

    private let line: any Line

    /// - Returns: Whether all went well.
    static func run(over line: some Line, _ sales: [Sale]) async -> Bool {
        let processes = Self(line: line)
        do {
            if let heard = try await processes.openKitchen() { return try await processes.till(sales, after: heard) }
            return try await processes.kitchen()
        } catch {
            Input.report("tour: \(error)")
            return false
        }
    }

    /// Whoever comes first is the kitchen.
    ///
    /// - Returns: What a kitchen that is open has heard; nil if there is none.
    private func openKitchen() async throws -> Totals? {
        let board = Switchboard()
        let asking = line.asking(board)
        let running = try await start(bridge("probe", board, asking.routes))
        defer {
            running.cancel()
            withExtendedLifetime(asking) {}
        }
        return try? await board.requests(.kitchenTotals).ask(false, timeout: .seconds(2))
    }

    private func kitchen() async throws -> Bool {
        heading("The kitchen")
        let board = Switchboard()
        let kitchen = Kitchen()
        await kitchen.open(board)
        let display = Display()
        display.open(board)
        let hasClosed = Channel<Void>()
        let closing = hasClosed.messages()
        let responder = board.requests(.kitchenTotals).respond { isClosing in
            let heard = await kitchen.heard
            if isClosing { hasClosed.post() }
            return heard
        }
        let answering = line.answering(board)
        let bridge = bridge("kitchen", board, [.incoming(.sale, durable: line.isDurable)] + answering.routes)
        let running = try await start(bridge)
        say("kitchen", "open at \(line.place); start the till in another terminal: the same command again")
        for await _ in closing { break }
        running.cancel()
        try await running.value
        let heard = await kitchen.heard
        say("kitchen", "the till has closed: \(heard.sales) orders for \(heard.guests) guests")
        withExtendedLifetime((kitchen, display, responder, answering)) {}
        return true
    }

    /// - Parameter before: What the kitchen has heard from another till.
    private func till(_ sales: [Sale], after before: Totals) async throws -> Bool {
        heading("The till")
        let board = Switchboard()
        let till = Till()
        let asking = line.asking(board)
        let bridge = bridge("till", board, [.outgoing(.sale, durable: line.isDurable)] + asking.routes)
        let running = try await start(bridge)
        say("till", "the kitchen is in another process")
        for sale in sales { await till.ring(sale, on: board) }
        var loop = before
        for sale in sales { loop.add(sale) }
        say("till", "rang \(loop.sales - before.sales) sales of \((loop.bills - before.bills).dollars)")
        // Questions and messages do not wait for each other: asked again until the kitchen has heard
        // everything.
        var heard = Totals()
        for _ in 0..<100 where heard.sales < loop.sales { heard = try await board.requests(.kitchenTotals).ask(false) }
        heard = try await board.requests(.kitchenTotals).ask(true, timeout: .seconds(5))
        say("till", "the kitchen heard \(heard.sales - before.sales) sales of \((heard.bills - before.bills).dollars)")
        running.cancel()
        try await running.value
        say("till", heard == loop ? "They agree." : "THEY DIFFER: \(line.weakness).")
        withExtendedLifetime(asking) {}
        return heard == loop
    }

    /// Runs a bridge. It would wait for a server; the tour does not.
    private func start(_ bridge: Bridge) async throws -> Task<Void, any Error> {
        let running = Task { try await bridge.run() }
        let status = await bridge.status.next { $0.isReady || $0.reason != nil || $0.phase == .ended }
        if let reason = status?.reason {
            running.cancel()
            throw reason
        }
        return running
    }

    private func bridge(_ name: String, _ board: Switchboard, _ routes: [BridgeRoute]) -> Bridge {
        Bridge(name, switchboard: board, transport: line.transport(), routes: routes)
    }
}
#endif
