import Channels
import Testing

// Where nothing else is said, types are on the main actor, and so are their conformances and static
// properties.

nonisolated struct Checkout: Equatable, Sendable {
    var total: Int
}

/// A message that is on the main actor, as a type in a new app is.
struct Selection: Equatable {
    var row = 0
}

extension ChannelName<Checkout> {
    static var checkout: Self { "shop.checkout" }
}

extension ChannelName<Int> {
    static var sales: Self { "shop.sales" }
}

extension RequestName<String, Int> {
    static var price: Self { "shop.price" }
}

protocol UserEvents: AnyObject, Sendable {
    func userLogin(_ id: Int)
    func userLogout()
}

extension UserEvents {
    func userLogout() {}
}

final class Greeter: UserEvents {
    var ids: [Int] = []

    func userLogin(_ id: Int) {
        ids.append(id)
    }
}

final class Basket: ChannelParticipant {
    var totals: [Int] = []

    func enter() {
        listen(on: "app.basket") { me, message in me.totals.append(message["total"] as? Int ?? 0) }
    }
}

/// A participant that says where its channels are.
final class Aisle: ChannelParticipant {
    nonisolated let switchboard: Switchboard
    var totals: [Int] = []

    init(_ switchboard: Switchboard) {
        self.switchboard = switchboard
    }

    func enter() {
        listen(on: "app.aisle") { me, message in me.totals.append(message["total"] as? Int ?? 0) }
        once(on: "app.aisle", context: 2) { me, message, two in me.totals.append(two) }
        listen(on: "app.aisle") { me, message in
            await Task.yield()
            me.totals.append(3)
        }
    }
}

/// Not Sendable, not isolated: for local channels.
nonisolated final class Gauge {
    var value = 0
}

struct WholeAPIInNewAppTests {
    let board = Switchboard(onFault: { _ in })
    let model = ScreenModel()

    @Test func namedChannels() async {
        board.listen(model, to: .checkout) { me, checkout in me.hear("\(checkout.total)") }
        board.listen(model, to: .checkout, context: 2) { me, checkout, two in me.hear("\(checkout.total * two)") }
        board.listen(model, to: .checkout) { me, checkout, info in me.hear(info.channelName ?? "-") }
        board.listen(model, to: .checkout) { me, checkout in await me.save("saved \(checkout.total)") }
        board.once(model, to: .checkout) { me, checkout in me.hear("once") }
        #expect(board.post(Checkout(total: 1), to: .checkout, from: model) == 5)
        #expect(model.heard == ["1", "2", "shop.checkout", "once"])
        #expect(await board.postAndWait(Checkout(total: 2), to: .checkout).completed == 4)
        #expect(model.heard.last == "saved 2")
        #expect(board.channel(.checkout).listenerCount == 4)
        board.removeAll(model)
        #expect(board.post(Checkout(total: 3), to: .checkout) == 0)
    }

    @Test func namesAtRunTimeAndPatterns() throws {
        let channel = try board.channel("shop.checkout", of: Checkout.self)
        #expect(throws: ChannelError.self) { try board.channel("shop.checkout", of: Int.self) }
        board.listen(model, matching: "shop.*") { me, name, message in
            me.hear("\(name) \((message as? Checkout)?.total ?? 0)")
        }
        let token = board.listen(matching: ">") { [model] name, _ in model.hear(name) }
        #expect(channel.post(Checkout(total: 4)) == 2)
        #expect(model.heard == ["shop.checkout 4", "shop.checkout"])
        #expect("\(board)".contains("ScreenModel"))
        withExtendedLifetime(token) {}
    }

    @Test func dictionaries() {
        board.listen(model, to: "x") { (me, message: [String: any Sendable]) in
            me.hear("\(message["total"] as? Int ?? 0)")
        }
        #expect(board.post(["total": 3], to: "x") == 1)
        let basket = Basket()
        basket.enter()
        #expect(basket.post(["total": 5], to: "app.basket") == 1)
        basket.leave("app.basket")
        #expect(model.heard == ["3"])
        #expect(basket.totals == [5])
    }

    @Test func participantsAreOnTheMainActorUnlessTheySayOtherwise() async {
        let aisle = Aisle(board)
        aisle.enter()
        #expect(aisle.post(["total": 1], to: "app.aisle") == 3)
        #expect(aisle.totals.prefix(2) == [1, 2])
        #expect(await aisle.postAndWait(["total": 5], to: "app.aisle").completed == 2)
        #expect(aisle.totals.sorted() == [1, 2, 3, 3, 5])
    }

    @Test func waitingForANameAndForAState() async {
        let level = StateChannel(1)
        let (readings, high) = (board.messages(of: .checkout), Task { await level.next { $0 > model.heard.count } })
        board.post(Checkout(total: 1), to: .checkout)
        var iterator = readings.makeAsyncIterator()
        #expect(await iterator.next()?.total == 1)
        #expect(await high.value == 1)
        let next = Task { await board.next(.checkout, where: { $0.total > model.heard.count + 1 }) }
        while board.channel(.checkout).listenerCount < 2 { await Task.yield() }
        board.post(Checkout(total: 1), to: .checkout)
        board.post(Checkout(total: 2), to: .checkout)
        #expect(await next.value?.total == 2)
    }

    @Test func messagesThatSayNothing() {
        let ping = Channel<Void>()
        ping.listen(model) { me, info in me.hear("info \(info.sender === me)") }
        ping.listen(model, context: 2) { me, row in me.hear("row \(row)") }
        ping.listen(model) { me, _ in me.hear("message") }
        #expect(ping.post(from: model) == 3)
        #expect(model.heard == ["info true", "row 2", "message"])
    }

    @Test func messagesOnTheMainActor() {
        let selected = Channel<Selection>()
        selected.listen(model) { me, selection in me.hear("\(selection.row)") }
        selected.post(Selection(row: 3))
        let edited = Channel<@MainActor (ScreenModel) -> Void>()
        edited.listen(model) { me, edit in edit(me) }
        edited.post { $0.hear("edited") }
        #expect(model.heard == ["3", "edited"])
    }

    @Test func protocols() {
        let greeter = Greeter()
        #expect(board.add(greeter, for: (any UserEvents).self, priority: .high))
        #expect(!board.add(greeter, for: (any UserEvents).self))
        #expect(board.notify((any UserEvents).self) { $0.userLogin(19000) } == 1)
        #expect(board.notify((any UserEvents).self) { $0.userLogout() } == 1)
        #expect(board.remove(greeter, for: (any UserEvents).self))
        let events = ProtocolChannel<any UserEvents>()
        events.add(greeter)
        events.notify { $0.userLogin(2) }
        #expect(greeter.ids == [19000, 2])
    }

    @Test func states() async {
        let sales = board.state(.sales, initial: 1)
        sales.listen(model) { me, total in me.hear("\(total)") }
        #expect(model.heard == ["1"])
        sales.update { $0 += 1 }
        sales.set(5)
        #expect(sales.value == 5)
        #expect(model.heard == ["1", "2", "5"])
        for await total in sales.values() {
            #expect(total == 5)
            break
        }
    }

    @Test func requests() async throws {
        let prices = board.requests(.price)
        prices.respond(model) { me, item in
            me.hear(item)
            return item.count
        }
        prices.respond(model, priority: .low) { me, item in
            await me.save("low \(item)")
            return 0
        }
        #expect(try await prices.ask("four") == 4)
        #expect(await prices.askAll("x").map { try? $0.get() } == [1, 0])
        #expect(model.heard.first == "four")
        #expect(model.heard.sorted() == ["four", "low x", "x"])
    }

    @Test func localChannels() {
        let clicks = LocalChannel<Gauge>()
        let gauge = Gauge()
        clicks.listen(model) { me, gauge in me.hear("\(gauge.value)") }
        clicks.listen(gauge) { me, other in me.value += other.value }
        clicks.once(model, context: gauge) { me, _, gauge in me.hear("once \(gauge.value)") }
        let token = clicks.listen { [model] gauge in model.hear("ownerless \(gauge.value)") }
        let message = Gauge()
        message.value = 2
        #expect(clicks.post(message, from: model) == 4)
        #expect(model.heard == ["2", "once 2", "ownerless 2"])
        withExtendedLifetime(token) {}
    }
}
