import Channels
import TestSupport
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

extension StateName<Int> {
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
        listen(on: "app.basket") { me, post in me.totals.append(post.message["total"] as? Int ?? 0) }
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
        listen(on: "app.aisle") { me, post in me.totals.append(post.message["total"] as? Int ?? 0) }
        listen(on: "app.aisle") { me, post in
            await Task.yield()
            me.totals.append(3)
        }
    }
}

/// Not Sendable, not isolated: for local channels.
nonisolated final class Gauge {
    var value = 0
}

@Suite(.hangLimit)
struct WholeAPIInNewAppTests {
    let board = Switchboard(onFault: { _ in })
    let model = ScreenModel()

    @Test func namedChannels() async {
        board[.checkout].listen(model) { me, checkout in me.hear("\(checkout.total)") }
        board[.checkout].listen(model) { [two = 2] me, checkout in me.hear("\(checkout.total * two)") }
        board[.checkout].posts.listen(model) { me, post in me.hear(post.channelName ?? "-") }
        board[.checkout].listen(model) { me, checkout in await me.save("saved \(checkout.total)") }
        board[.checkout].listen(model, once: true) { me, checkout in me.hear("once") }
        #expect(board[.checkout].post(Checkout(total: 1), from: model) == 5)
        #expect(model.heard == ["1", "2", "shop.checkout", "once"])
        #expect(await board[.checkout].postAndWait(Checkout(total: 2)).completedCount == 4)
        #expect(model.heard.last == "saved 2")
        #expect(board[.checkout].listenerCount == 4)
        board.removeListeners(of: model)
        #expect(board[.checkout].post(Checkout(total: 3)) == 0)
    }

    @Test func channelsOfTypes() {
        board[Checkout.self].listen(model) { me, checkout in me.hear("\(checkout.total)") }
        board[Selection.self].listen(model) { me, selection in me.hear("row \(selection.row)") }
        #expect(board[Checkout.self].post(Checkout(total: 1)) == 1)
        #expect(board[Selection.self].post(Selection(row: 2)) == 1)
        #expect(model.heard == ["1", "row 2"])
    }

    @Test func namesAtRunTimeAndPatterns() throws {
        let channel = try board.channel("shop.checkout", of: Checkout.self)
        #expect(throws: ChannelError.self) { try board.channel("shop.checkout", of: Int.self) }
        board[matching: "shop.*"].listen(model) { me, post in
            me.hear("\(post.channelName ?? "-") \((post.message as? Checkout)?.total ?? 0)")
        }
        let token = board[matching: ">"].listen { [model] post in model.hear(post.channelName ?? "-") }
        #expect(channel.post(Checkout(total: 4)) == 2)
        #expect(model.heard == ["shop.checkout 4", "shop.checkout"])
        #expect("\(board)".contains("ScreenModel"))
        withExtendedLifetime(token) {}
    }

    @Test func dictionaries() {
        let name: ChannelName<[String: any Sendable]> = "x"
        board[name].listen(model) { me, message in me.hear("\(message["total"] as? Int ?? 0)") }
        #expect(board[name].post(["total": 3]) == 1)
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
        #expect(aisle.post(["total": 1], to: "app.aisle") == 2)
        #expect(aisle.totals == [1])
        #expect(await aisle.postAndWait(["total": 5], to: "app.aisle").completedCount == 2)
        #expect(aisle.totals.sorted() == [1, 3, 3, 5])
    }

    @Test func waitingForANameAndForAState() async {
        let level = StateChannel(1)
        let (readings, high) = (board[.checkout].messages(), Task { await level.first { $0 > model.heard.count } })
        board[.checkout].post(Checkout(total: 1))
        var iterator = readings.makeAsyncIterator()
        #expect(await iterator.next()?.total == 1)
        #expect(await high.value == 1)
        let next = Task { await board[.checkout].first(where: { $0.total > model.heard.count + 1 }) }
        await wait(for: board[.checkout].listenerCount) { $0 >= 2 }
        board[.checkout].post(Checkout(total: 1))
        board[.checkout].post(Checkout(total: 2))
        #expect(await next.value?.total == 2)
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
        for await total in sales.messages() {
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
        clicks.listen(model, once: true) { [gauge] me, _ in me.hear("once \(gauge.value)") }
        clicks.posts.listen(model) { me, post in me.hear("post \(post.sender === me)") }
        let token = clicks.listen { [model] gauge in model.hear("ownerless \(gauge.value)") }
        let message = Gauge()
        message.value = 2
        #expect(clicks.post(message, from: model) == 5)
        #expect(model.heard == ["2", "once 2", "post true", "ownerless 2"])
        withExtendedLifetime(token) {}
    }
}
