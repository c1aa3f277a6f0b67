import Channels
import ChannelsTesting
import Testing

private struct Checkout: Equatable, Sendable {
    var total: Int
}

extension ChannelName<Checkout> {
    fileprivate static var checkout: Self { "shop.checkout" }
}

extension ChannelName<Void> {
    fileprivate static var opened: Self { "shop.opened" }
}

extension StateName<Int> {
    fileprivate static var sales: Self { "shop.sales" }
}

extension RequestName<String, Int> {
    fileprivate static var price: Self { "shop.price" }
}

struct NamedChannelFormTests {
    let board = Switchboard(onFault: { _ in })
    let owner = FormListener()

    @Test func implicitMembersAtEveryCall() async {
        board[.checkout].listen(owner) { me, checkout in me.hear("\(checkout.total)") }
        board[Checkout.self].listen(owner) { me, checkout in try me.hearOrThrow("type \(checkout.total)") }
        #expect(board[Checkout.self].post(Checkout(total: 1), from: owner) == 1)
        #expect(board[.checkout].listenerCount == 1 && !board[.checkout].isEmpty)
        let next = Task { [board] in await board[.checkout].first { $0.total > 2 } }
        await wait(for: board[.checkout].listenerCount) { $0 >= 2 }
        var messages = board[.checkout].messages(buffering: .newest(1), priority: .high).makeAsyncIterator()
        for total in 2...4 { board[.checkout].post(Checkout(total: total)) }
        #expect(await messages.next() == Checkout(total: 4))
        #expect(await next.value == Checkout(total: 3))
        #expect(await board[.checkout].postAndWait(Checkout(total: 5)).completedCount == 2)
        board[.checkout].removeListeners(of: owner)
        #expect(board[.checkout].post(Checkout(total: 6)) == 1)
        #expect(owner.heard.all == ["type 1", "2", "3", "4", "5"])
        #expect(await board["shop.nobody" as ChannelName<Int>].postAndWait(1).reachedCount == 0)
    }

    @Test func namesWhoseMessagesSayNothing() {
        board[.opened].listen(owner) { me, _ in me.hear("opened") }
        let token = board[.opened].listen { [owner] in owner.hear("token") }
        #expect(board[.opened].post() == 2)
        #expect(board[.opened].post(from: owner, echo: false) == 1)
        #expect(owner.heard.all == ["opened", "token", "token"])
        withExtendedLifetime(token) {}
    }

    @Test func dictionaryLiterals() {
        let (name, typed): (ChannelName<[String: any Sendable]>, ChannelName<[String: Int]>) = ("x", "typed")
        board[name].listen(owner) { me, message in me.hear("\(message["total"] as? Int ?? -1) \(message.count)") }
        board[typed].listen(owner) { me, message in me.hear("\(message["total", default: 0])") }
        #expect(board[name].post(["total": 3, "of": "text"]) == 1)
        #expect(board[name].post([:]) == 1)
        #expect(board[typed].post(["total": 4]) == 1)
        #expect(owner.heard.all == ["3 2", "-1 0", "4"])
    }

    @Test func theChannelItselfAndNamesThatArriveAtRunTime() throws {
        let name = ["shop", "checkout"].joined(separator: ".")
        let channel = try board.channel(name, of: Checkout.self)
        #expect(channel === board.channel(.checkout))
        #expect(channel === board[.checkout].channel)
        #expect([channel.name, board[.checkout].name] == [name, name])
        let validated = try ChannelName<Checkout>(validating: name)
        #expect(validated == .checkout)
        #expect(validated.text == name)
        channel.listen(owner) { me, checkout in me.hear("\(checkout.total)") }
        #expect(board[validated].post(Checkout(total: 2)) == 1)
        _ = board.channel(ChannelName<Int>("other"), reentrancy: .queued)
    }

    @Test func statesAndRequestsByName() async throws {
        let sales = board.state(.sales, initial: 3)
        #expect(board.state(.sales, initial: 9) === sales)
        #expect(try board.state("shop.sales", of: Int.self, initial: 9).value == 3)
        board.requests(.price).respond(owner) { _, item in item.count }
        #expect(try await board.requests(.price).ask("four") == 4)
        #expect(try await board.requests("shop.price", of: String.self, returning: Int.self).ask("x") == 1)
        #expect(board.removeRequests(RequestName.price))
        #expect(board.removeState(StateName.sales))
        #expect(!board.removeChannel(named: "shop.sales"))
        #expect(board.state(.sales, initial: 9).value == 9)
    }
}
