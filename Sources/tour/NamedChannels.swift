import Channels
import Dispatch
import Synchronization

// A. Named channels. Whoever knows the name can post and listen; the name carries the type of its messages.
extension ChannelName<Sale> {
    static var sale: Self { "till.sale" }
}

/// Rings sales up, and would hear of them itself.
final class Till: Sendable {
    func ring(_ sale: Sale, on board: Switchboard) async {
        // `echo: false` keeps the till from hearing its own voice. Waits until the kitchen and the printer
        // have done with it, too.
        await board[.sale].postAndWait(sale, from: self, echo: false)
    }
}

/// Cooks, on an actor of its own.
actor Kitchen {
    private(set) var heard = Totals()

    func open(_ board: Switchboard) {
        board[.sale].listen(self) { me, sale in me.heard.add(sale) }
    }
}

/// Prints receipts, on a queue of its own, which makes one call at a time.
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

/// Shows each bill that is the highest so far, from thirty dollars on, on the main actor.
@MainActor
final class Display {
    private var highest = 29_99

    func open(_ board: Switchboard) {
        board[.sale].listen(self, priority: .high) { me, sale in me.show(sale) }
    }

    private func show(_ sale: Sale) {
        guard sale.bill > highest else { return }
        highest = sale.bill
        say("display", "the highest bill so far, \(sale.bill.dollars), a table of \(sale.guests) on \(sale.day)")
    }
}

/// Speaks and hears dictionaries, on the switchboard that every participant shares.
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
    heading("A. Named channels")
    let board = stage.board
    let (till, kitchen, printer, display) = (Till(), Kitchen(), Printer(), Display())
    display.open(board)
    printer.open(board)
    await kitchen.open(board)
    board[.sale].listen(till) { _, _ in say("till", "I should not hear myself") }
    var patternHeard = 0
    let all = board[matching: "till.*"].listen { @MainActor _ in patternHeard += 1 }

    for sale in sales { await till.ring(sale, on: board) }

    let heard = await kitchen.heard
    say("kitchen", "\(heard.sales.of("order", "orders")) for \(heard.guests.of("guest", "guests"))")
    printer.report()
    say("till.*", "\(patternHeard.of("message", "messages")) matched the pattern")
    print("  \(board)".replacing("\n", with: "\n  "))

    let (anna, ben) = (Waiter("Anna"), Waiter("Ben"))
    anna.begin()
    ben.begin()
    anna.free(table: 4)
    ben.end()
    say("Anna", "\(anna.reached(5).of("waiter", "waiters")) heard me after Ben had left")
    stage.keep(till, kitchen, printer, display, all, anna, ben)
    return heard
}

extension Waiter {
    fileprivate func reached(_ table: Int) -> Int {
        post(["table": table], to: "house.news", echo: false)
    }
}
