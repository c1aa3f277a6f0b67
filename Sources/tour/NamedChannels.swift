import Channels
import Dispatch
import Synchronization

// A. Named channels: any part of the program that knows the name can post and listen. The name has the type
// of its messages.
extension ChannelName<Sale> {
    static var sale: Self { "till.sale" }
}

/// Posts the sales, and also listens to them.
final class Till: Sendable {
    func ring(_ sale: Sale, on board: Switchboard) async {
        // `echo: false` skips the till's own listener. The call returns when the kitchen and the printer have
        // finished as well.
        await board[.sale].postAndWait(sale, from: self, echo: false)
    }
}

/// Cooks, on its own actor.
actor Kitchen {
    private(set) var heard = Totals()

    func open(_ board: Switchboard) {
        board[.sale].listen(self) { me, sale in me.heard.add(sale) }
    }
}

/// Prints receipts on its own queue, one at a time.
final class Printer: Sendable {
    private let queue = DispatchQueue(label: "printer")
    private let printed = Mutex(Totals())

    func open(_ board: Switchboard) {
        board[.sale].listen(self, on: queue) { me, sale in me.print(sale) }
    }

    private func print(_ sale: Sale) {
        dispatchPrecondition(condition: .onQueue(queue))
        printed.withLock { $0.add(sale) }
    }

    func report() {
        let printed = printed.withLock { $0 }
        say(
            "printer",
            "\(printed.sales.of("receipt", "receipts")) over \(printed.bills.dollars), each on the queue '\(queue.label)'"
        )
    }
}

/// Shows the highest bill, on the main actor.
@MainActor
final class Display {
    private var highest: Sale?
    private var records = 0

    func open(_ board: Switchboard) {
        board[.sale].listen(self, priority: .high) { me, sale in me.show(sale) }
    }

    private func show(_ sale: Sale) {
        guard sale.bill > highest?.bill ?? 0 else { return }
        highest = sale
        records += 1
    }

    func report() {
        guard let highest else { return }
        say(
            "display",
            "the highest bill was \(highest.bill.dollars), a table of \(highest.guests) on \(highest.day); \(records.of("record", "records")) in all"
        )
    }
}

/// Posts dictionaries and listens to them, on the switchboard that all participants share.
final class Waiter: ChannelParticipant, Sendable {
    private let name: String

    init(_ name: String) {
        self.name = name
    }

    func begin() {
        listen(on: "house.news") { me, post in
            let sender = (post.sender as? Waiter)?.name ?? "nobody"
            say(me.name, "\(sender) says that table \(post.message["table"] ?? "?") is free")
        }
    }

    func free(table: Int) {
        post(["table": table], to: "house.news", echo: false)
    }

    func end() {
        leave("house.news")
    }
}

@MainActor
func namedChannels(_ sales: [Sale], _ stage: Stage) async -> Totals {
    heading("Orders: named channels")
    let board = stage.board
    let (till, kitchen, printer, display) = (Till(), Kitchen(), Printer(), Display())
    display.open(board)
    printer.open(board)
    await kitchen.open(board)
    board[.sale].listen(till) { _, _ in say("till", "this should not arrive: it is my own message") }
    var patternHeard = 0
    let all = board[matching: "till.*"].listen { @MainActor _ in patternHeard += 1 }

    for sale in sales { await till.ring(sale, on: board) }

    let heard = await kitchen.heard
    say("kitchen", "\(heard.sales.of("order", "orders")) for \(heard.guests.of("guest", "guests"))")
    printer.report()
    display.report()
    say("till.*", "\(patternHeard.of("message", "messages")) matched the pattern")
    all.cancel()

    let (anna, ben) = (Waiter("Anna"), Waiter("Ben"))
    anna.begin()
    ben.begin()
    anna.free(table: 4)
    ben.end()
    say("Anna", "\(anna.reached(5).of("waiter", "waiters")) received my message after Ben had left")
    stage.keep(till, kitchen, printer, display, anna, ben)
    return heard
}

extension Waiter {
    fileprivate func reached(_ table: Int) -> Int {
        post(["table": table], to: "house.news", echo: false)
    }
}
