#if Inspector
import Channels

extension ChannelName<Inspected.Sale> {
    static var sold: Self { "shop.sold" }
    static var mail: Self { "mail.receipt" }
}

extension ChannelName<String> {
    static var alarm: Self { "shop.alarm" }
    static var cooked: Self { "kitchen.cooked" }
    static var ordered: Self { "stock.ordered" }
}

extension ChannelName<Int> {
    static var tick: Self { "clock.tick" }
}

/// The objects of a shop, each of which hears some of the others.
final class Shop: Sendable {
    private let board: Switchboard
    private let till = Till()
    private let clock = Clock()
    private let kitchen: Kitchen
    private let stock: Stock
    private let owners: [any Sendable]

    final class Till: Sendable {}
    final class Clock: Sendable {}

    struct Refused: Error {}

    init(_ board: Switchboard, fails: Bool) {
        self.board = board
        kitchen = Kitchen(board)
        stock = Stock(board)
        owners = [
            Ledger(board), MailQueue(board, fails: fails), FraudCheck(board), Display(board), Watchdog(board),
        ]
    }

    /// Sells a few dishes a second.
    func sell() async throws {
        let dishes = ["soup", "cake", "salad", "stew", "tea"]
        var count = 0
        while true {
            count += 1
            let sale = Inspected.Sale(dish: dishes[count % dishes.count], total: 3 + count * 7 % 38)
            board[.sold].post(sale, from: till)
            if count % 3 == 0 { board[.tick].post(count, from: clock) }
            try await Task.sleep(for: .milliseconds(40 + count * 37 % 90))
        }
    }
}

actor Kitchen {
    private let board: Switchboard

    init(_ board: Switchboard) {
        self.board = board
        board[.sold].listen(self) { me, sale in me.cook(sale) }
    }

    private func cook(_ sale: Inspected.Sale) {
        if sale.total % 2 == 0 { board[.cooked].post(sale.dish, from: self) }
    }
}

actor Stock {
    private let board: Switchboard
    private var left = 20

    init(_ board: Switchboard) {
        self.board = board
        board[.cooked].listen(self) { me, dish in me.take(dish) }
        board[.tick].listen(self, priority: .low) { _, _ in }
    }

    private func take(_ dish: String) {
        left -= 1
        guard left == 0 else { return }
        left = 20
        board[.ordered].post(dish, from: self)
    }
}

final class Ledger: Sendable {
    init(_ board: Switchboard) {
        let sales = board.state("ledger.total", initial: 0)
        board[.sold].listen(self, priority: .high) { _, sale in sales.update { $0 += sale.total } }
    }
}

final class MailQueue: Sendable {
    init(_ board: Switchboard, fails: Bool) {
        board[.sold].listen(self, buffering: .newest(8)) { me, sale in
            try await Task.sleep(for: .milliseconds(120))
            board[.mail].post(sale, from: me)
        }
        board[.mail].listen(self) { _, sale in
            if fails, sale.total % 16 == 0 { throw Shop.Refused() }
        }
    }
}

final class FraudCheck: Sendable {
    init(_ board: Switchboard) {
        board[.sold].intercept(self) { me, post in
            if post.message.total > 35 { board[.alarm].post("\(post.message.total) at once", from: me) }
            return .continue
        }
    }
}

final class Display: Sendable {
    init(_ board: Switchboard) {
        board.state("ledger.total", initial: 0).listen(self) { _, _ in }
        board[.ordered].listen(self) { _, _ in }
        board[.alarm].listen(self) { _, _ in }
    }
}

final class Watchdog: Sendable {
    init(_ board: Switchboard) {
        board[matching: "shop.*"].listen(self) { _, _ in }
        board[.tick].listen(self) { _, _ in }
    }
}

#endif
