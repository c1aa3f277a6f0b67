import Channels
import Logging

/// How many portions of each menu are left. This follows from what was served, so it need not be stored.
struct Stock: Codable, Hashable, Sendable {
    struct Shelf: Codable, Hashable, Sendable {
        let menu: Sale.Menu
        var left = Stock.full
        var reorders = 0
    }

    static let full = 200
    private static let low = 40

    private(set) var shelves = Sale.Menu.allCases.map { Shelf(menu: $0) }

    /// - Returns: Whether something had to be reordered.
    @discardableResult
    mutating func serve(_ menu: Sale.Menu, _ guests: Int) -> Bool {
        guard let index = shelves.firstIndex(where: { $0.menu == menu }) else { return false }
        shelves[index].left -= guests
        let missing = max(0, Self.low - shelves[index].left)
        let orders = (missing + Self.full - 1) / Self.full
        shelves[index].left += orders * Self.full
        shelves[index].reorders += orders
        return orders > 0
    }
}

/// Takes what is sold from the shelf, and reorders in time. It is an actor, so that one call at a time uses
/// its stock.
actor StockKeeper {
    private var stock: Stock
    private let office: StateChannel<Office>
    private let logger: Logger

    init(on board: Switchboard, logger: Logger) {
        office = board.state(.office, initial: Office())
        stock = office.value.stock
        self.logger = logger
        board[.booked].listen(self) { me, booking in me.serve(booking.sale) }
    }

    private func serve(_ sale: Sale) {
        if stock.serve(sale.menu, sale.guests) { logger.info("reordered: \(sale.menu.rawValue)") }
        office.update { $0.show(stock) }
    }
}
