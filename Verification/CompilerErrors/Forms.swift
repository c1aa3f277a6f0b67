import Channels
import Dispatch

// Every way to call a form that is meant to compile, with nothing spelt out that should be inferred.

nonisolated extension ChannelName<Sale> { static var sale: Self { "shop.sale" } }

nonisolated struct Refused: Error {}

nonisolated func ownedByObject(_ till: Till, _ me: Display, _ queue: DispatchQueue) {
    till.sold.listen(me) { me, sale in me.show(sale) }
    till.sold.listen(me) { $0.show($1) }
    till.sold.listen(me) { _, _ in print("sold") }
    till.sold.listen(me) { me, sale in try me.check(sale) }
    till.sold.listen(me) { me, sale in
        if sale.total < 0 { throw Refused() }
        me.show(sale)
    }
    till.sold.listen(me) { me, sale in try await me.store(sale) }
    till.sold.listen(me) { me, sale in
        await Task.yield()
        me.show(sale)
    }
    till.sold.listen(me, on: queue) { me, sale in me.show(sale) }
    till.sold.listen(me, on: .main) { me, sale in try me.check(sale) }
    till.sold.listen(me, on: queue, priority: .high, once: true, buffering: .newest(8)) { $0.show($1) }
    till.sold.listen(me, priority: .high) { me, sale in me.show(sale) }
    till.sold.listen(me, priority: 5, once: true, buffering: .oldest(2)) { me, sale in me.show(sale) }
    till.sold.posts.listen(me) { me, post in me.show(post.message) }
    till.opened.listen(me) { me, _ in me.note("opened") }
    till.moved.listen(me) { me, move in me.note("\(move.0) \(move.1)") }
    till.count.listen(me) { me, count in me.note("\(count)") }

    let token = till.sold.listen(me, once: true) { [weak till] me, sale in
        till?.opened.post()
        me.show(sale)
    }
    token.cancel()
}

nonisolated func closureAsValue(_ till: Till, _ me: Display, _ queue: DispatchQueue) {
    let plain: @Sendable (Display, Sale) -> Void = { me, sale in me.show(sale) }
    till.sold.listen(me, plain)
    till.sold.listen(me, on: queue, plain)
    let asynchronous: @concurrent @Sendable (Display, Sale) async -> Void = { me, sale in me.show(sale) }
    till.sold.listen(me, asynchronous)
    let ownerless: @Sendable (Sale) -> Void = { sale in print(sale) }
    let token = till.sold.listen(ownerless)
    token.cancel()
}

@MainActor
func ownedByMainActorObject(_ till: Till, _ display: Display, _ me: Screen) {
    till.sold.listen(me) { me, sale in me.label = "\(sale.total)" }
    till.sold.listen(me) { me, sale in
        try display.check(sale)
        me.show(sale)
    }
    till.sold.listen(me) { me, sale in try await me.load(sale) }
    till.sold.listen(me) { me, sale in
        let price = "\(sale.total) euros"
        me.label = price + ": " + sale.article
        if sale.total > 100 { me.show(sale) }
        for _ in 0..<3 { await Task.yield() }
    }
    let token = till.sold.listen { [weak me] sale in me?.label = "\(sale.total)" }
    token.pause()
}

nonisolated func wiredFromOutside(_ till: Till, _ screen: Screen) {
    till.sold.listen(screen) { @MainActor me, sale in me.show(sale) }
    till.sold.listen(screen) { me, sale in await me.show(sale) }
}

actor Cook {
    let clicks = LocalChannel<Int>()
    var count = 0

    init(_ till: Till) {
        till.sold.listen(self) { me, sale in me.count += sale.total }
    }

    func check(_ sale: Sale) throws { count += 1 }
    func cook(_ sale: Sale) async throws { count += 1 }

    func start(_ till: Till) {
        till.sold.listen(self) { me, sale in me.count += sale.total }
        till.sold.listen(self) { me, sale in try me.check(sale) }
        till.sold.listen(self) { me, sale in try await me.cook(sale) }
        till.sold.listen(self) { me, sale in
            me.count += 1
            await Task.yield()
            me.count += sale.total
        }
        till.sold.listen(self, priority: .low, once: true, buffering: .newest(1)) { me, sale in me.count = sale.total }
        clicks.listen(actor: self) { me, click in me.count += click }
    }
}

nonisolated func ownedByToken(_ till: Till, _ queue: DispatchQueue) -> [ListenerToken] {
    [
        till.sold.listen { print($0) },
        till.sold.listen { sale in print(sale) },
        till.sold.listen { sale in if sale.total < 0 { throw Refused() } },
        till.sold.listen { sale in
            await Task.yield()
            print(sale)
        },
        till.sold.listen(on: queue) { sale in print(sale) },
        till.sold.listen(on: .main, once: true) { _ in throw Refused() },
        till.sold.listen(priority: .high, once: true, buffering: .newest(2)) { print($0) },
        till.opened.listen { print("opened") },
        till.opened.listen { await Task.yield() },
        till.opened.listen { throw Refused() },
        till.opened.listen(on: queue) { print("opened") },
        till.moved.listen { position, name in print(position + 1, name.count) },
        till.moved.listen { move in print(move.0, move.1) },
        till.moved.listen(on: queue) { position, name in print(position, name) },
        till.count.listen { print($0) },
    ]
}

nonisolated func anySource(_ some: some Listenable<Int>, _ any: any Listenable<Int>, _ me: Display, _ cook: Cook) {
    some.listen(me) { me, number in me.note("\(number)") }
    some.listen(cook) { me, number in me.count += number }
    any.listen(me) { me, number in me.note("\(number)") }
    any.listen(me) { me, number in
        await Task.yield()
        me.note("\(number)")
    }
    any.listen(me, on: .main) { me, number in me.note("\(number)") }
    any.listen(cook) { me, number in me.count += number }
    let tokens = [some.listen { print($0 + 1) }, any.listen { print($0 + 1) }]
    withExtendedLifetime(tokens) {}
}

nonisolated func named(_ board: Switchboard, _ me: Display, _ cook: Cook) throws {
    board[.sale].listen(me) { me, sale in me.show(sale) }
    board[.sale].listen(cook) { me, sale in try await me.cook(sale) }
    board[Sale.self].listen(me) { me, sale in me.show(sale) }
    board[Sale.self].posts.listen(me, once: true) { me, post in me.show(post.message) }
    board[matching: "shop.*"].listen(me) { me, post in me.note(post.channelName ?? "") }
    let token = board[matching: "shop.*"].listen { post in print(post.channelName ?? "", post.message) }
    withExtendedLifetime(token) {}
    try board.channel("shop.sale", of: Sale.self).listen(me) { me, sale in me.show(sale) }
}

nonisolated func local(_ sold: LocalChannel<Sale>, _ opened: LocalChannel<Void>, _ me: Notebook) {
    sold.listen(me) { me, sale in me.lines.append(sale.article) }
    sold.listen(me, priority: .high, once: true) { _, sale in if sale.total < 0 { throw Refused() } }
    sold.posts.listen(me) { me, post in me.lines.append(post.message.article) }
    sold.listen(me) { me, _ in
        Task { await Task.yield() }
        me.lines = []
    }
    let tokens = [
        sold.listen { sale in me.lines.append(sale.article) },
        sold.listen(once: true) { _ in throw Refused() },
        opened.listen { me.lines.append("opened") },
    ]
    withExtendedLifetime(tokens) {}
}
