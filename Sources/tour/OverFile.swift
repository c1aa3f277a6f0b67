#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite

extension ChannelName<Totals> {
    /// The totals of the till when it closes.
    fileprivate static var tillClosed: Self { "till.closed" }
}

extension StateName<Bool> {
    fileprivate static var kitchenIsOpen: Self { "kitchen.open" }
}

/// The till in one process and the kitchen in another, over one file. The objects are the same as in one
/// process, with a bridge between their switchboards. A posted sale is in the file, no matter which process
/// is killed.
@MainActor
enum OverFile {
    /// - Returns: Whether everything went well.
    static func run(_ path: String, _ sales: [Sale]) async -> Bool {
        do {
            if try await isKitchenOpen(path) { try await till(path, sales) } else { try await kitchen(path) }
            return true
        } catch {
            Input.report("tour: \(error)")
            return false
        }
    }

    /// Whether there is a kitchen. The process that starts first becomes the kitchen.
    private static func isKitchenOpen(_ path: String) async throws -> Bool {
        let board = Switchboard()
        let isOpen = board.state(.kitchenIsOpen, initial: false)
        let running = try await bridge("probe", board, path, []).start()
        running.cancel()
        try await running.value
        return isOpen.value
    }

    private static func kitchen(_ path: String) async throws {
        heading("The kitchen")
        let board = Switchboard()
        let isOpen = board.state(.kitchenIsOpen, initial: false)
        let heard = StateChannel(Totals())
        let token = board[.sale].listen { sale in heard.update { $0.add(sale) } }
        let display = Display()
        display.open(board)
        let closing = board[.tillClosed].messages()
        let routes: [BridgeRoute] = [.incoming(.sale, durable: true), .incoming(.tillClosed, durable: true)]
        let running = try await bridge("kitchen", board, path, routes).start()
        isOpen.set(true)
        // Waits until the state is stored. A process that starts before that would become a second kitchen.
        while try await !isKitchenOpen(path) {}
        say("kitchen", "open over '\(path)'; start the till in another terminal: the same command again")
        for await rung in closing {
            // The last sales may arrive after this message, which has its own route. An earlier kitchen may
            // have received some.
            _ = try? await heard.first(timeout: .seconds(5)) { $0.sales >= rung.sales }
            let heard = heard.value
            say("kitchen", "the till has closed: \(heard.sales) orders for \(heard.guests) guests")
            display.report()
            say(
                "kitchen",
                heard == rung ? "They agree." : "The till rang \(rung.sales), and other kitchens received some."
            )
            break
        }
        isOpen.set(false)
        running.cancel()
        try await running.value
        withExtendedLifetime((token, display)) {}
    }

    private static func till(_ path: String, _ sales: [Sale]) async throws {
        heading("The till")
        let board = Switchboard()
        let isOpen = board.state(.kitchenIsOpen, initial: false)
        let till = Till()
        let routes: [BridgeRoute] = [.outgoing(.sale, durable: true), .outgoing(.tillClosed, durable: true)]
        let running = try await bridge("till", board, path, routes).start()
        say("till", "the kitchen is in another process; messages that it does not receive now wait in the file")
        var rung = Totals()
        for sale in sales {
            // Returns when the sale is stored.
            await till.ring(sale, on: board)
            rung.add(sale)
        }
        await board[.tillClosed].postAndWait(rung)
        say("till", "rang \(rung.sales) sales of \(rung.bills.dollars)")
        // Set even if the kitchen was killed: the next one receives the rest.
        isOpen.set(false)
        running.cancel()
        try await running.value
    }

    private static func bridge(_ name: String, _ board: Switchboard, _ path: String, _ routes: [BridgeRoute]) -> Bridge
    {
        Bridge(
            name,
            switchboard: board,
            transport: SQLiteTransport(path: path),
            routes: routes + [.both(state: .kitchenIsOpen, initial: false)]
        )
    }
}
#endif
