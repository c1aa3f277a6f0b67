import Channels
import Dispatch
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

extension FormView {
    fileprivate func wire(_ board: Switchboard) {
        board.listen(self, to: .checkout) { me, checkout in me.hear("view \(checkout.total)") }
    }
}

struct SwitchboardFormTests {
    let board = Switchboard(onFault: { _ in })
    let owner = FormListener()

    @Test func synchronousForms() {
        board.listen(owner, to: .checkout) { me, checkout in me.hear("a\(checkout.total)") }
        board.listen(owner, to: .checkout, priority: .high) { me, checkout, info in
            me.hear("b\(checkout.total) \(info.channelName ?? "-") \(info.sender === me)")
        }
        board.listen(owner, to: .checkout, context: 2) { me, checkout, two in me.hear("c\(checkout.total * two)") }
        board.listen(owner, to: .checkout) { me, checkout in try me.hearOrThrow("d\(checkout.total)") }
        let plain = board.listen(to: .checkout) { [owner] (checkout: Checkout) in owner.hear("e\(checkout.total)") }
        let informed = board.listen(to: ChannelName<Checkout>.checkout) { [owner] checkout, info in
            owner.hear("f\(checkout.total) \(info.origin)")
        }
        board.once(owner, to: .checkout) { me, checkout in me.hear("g\(checkout.total)") }
        #expect(board.post(Checkout(total: 1), to: .checkout, from: owner) == 7)
        #expect(owner.heard.all == ["b1 shop.checkout true", "a1", "c2", "d1", "e1", "f1 local", "g1"])
        #expect(board.post(Checkout(total: 2), to: .checkout, from: owner, echo: false) == 2)
        withExtendedLifetime((plain, informed)) {}
    }

    @Test func asynchronousAndQueueForms() async {
        let queue = DispatchQueue(label: "forms")
        board.listen(owner, to: .checkout) { me, checkout in await me.hearLater("a\(checkout.total)") }
        board.listen(owner, to: .checkout, context: "b", priority: .low, buffering: .newest(4)) { me, checkout, text in
            try await me.hearLaterOrThrow("\(text)\(checkout.total)")
        }
        board.listen(owner, to: .checkout, context: "c", priority: .low, on: queue, buffering: .oldest(4)) {
            me,
            checkout,
            text in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("\(text)\(checkout.total)")
        }
        board.once(owner, to: .checkout, on: queue) { me, checkout, info in me.hear("d\(checkout.total) \(info.origin)")
        }
        let report = await board.postAndWait(Checkout(total: 1), to: .checkout)
        #expect(report.reached == 4)
        #expect(report.failures.count == 1)
        #expect(owner.heard.all.sorted() == ["a1", "b1", "c1", "d1 local"])
        #expect(await board.postAndWait(Checkout(total: 1), to: "shop.nobody").reached == 0)
    }

    @Test func isolatedForms() async {
        let view = FormView()
        let actor = FormActor()
        await view.wire(board)
        board.listen(actor, to: .checkout) { (me: isolated FormActor, checkout: Checkout) in
            me.hear("\(checkout.total)")
        }
        board.once(view, to: .checkout) { @MainActor me, checkout in me.hear("once \(checkout.total)") }
        #expect(await board.postAndWait(Checkout(total: 3), to: .checkout).completed == 3)
        #expect(await view.heard == ["view 3", "once 3"])
        #expect(await actor.heard == ["3"])
    }

    @Test func interceptForms() {
        board.listen(owner, to: .checkout) { me, checkout in me.hear("\(checkout.total)") }
        board.intercept(owner, to: .checkout) { _, checkout in .replace(Checkout(total: checkout.total + 1)) }
        board.intercept(owner, to: .checkout, priority: .low) { _, _, info in info.sender == nil ? .continue : .stop }
        let token = board.intercept(to: .checkout) { (checkout: Checkout) in checkout.total > 100 ? .stop : .continue }
        #expect(board.post(Checkout(total: 1), to: .checkout) == 1)
        #expect(board.post(Checkout(total: 1), to: .checkout, from: owner) == 0)
        #expect(board.post(Checkout(total: 100), to: .checkout) == 0)
        #expect(owner.heard.all == ["2"])
        withExtendedLifetime(token) {}
    }

    @Test func voidNames() {
        board.listen(owner, to: .opened) { me, _ in me.hear("opened") }
        #expect(board.post(to: .opened) == 1)
        #expect(board.post(to: .opened, from: owner, echo: false) == 0)
        #expect(owner.heard.all == ["opened"])
    }

    @Test func theChannelItself() async {
        let channel = board.channel(.checkout)
        #expect(channel.name == "shop.checkout")
        #expect(board.channel(.checkout) === channel)
        channel.listen(owner) { me, checkout in me.hear("\(checkout.total)") }
        #expect(board.post(Checkout(total: 5), to: .checkout) == 1)
        #expect(board.channel(.checkout).listenerCount == 1)
        let messages = board.channel(.checkout).messages(buffering: .newest(1))
        board.post(Checkout(total: 6), to: .checkout)
        for await checkout in messages {
            #expect(checkout == Checkout(total: 6))
            break
        }
        board.removeListeners(of: owner, from: .checkout)
        #expect(owner.heard.all == ["5", "6"])
        channel.post(Checkout(total: 7))
        #expect(owner.heard.all == ["5", "6"])
        _ = board.channel(ChannelName<Int>("other"), reentrancy: .queued)
    }

    @Test func dictionaryLiterals() {
        board.listen(owner, to: "x") { (me, message: [String: any Sendable]) in
            me.hear("\(message["total"] as? Int ?? -1) \(message.count)")
        }
        #expect(board.post(["total": 3], to: "x") == 1)
        #expect(board.post(["total": 3, "of": "text"], to: "x") == 1)
        #expect(board.post([:], to: "x") == 1)
        let dictionary: [String: any Sendable] = ["total": 4]
        #expect(board.post(dictionary, to: "x", from: owner) == 1)
        let name: ChannelName<[String: any Sendable]> = "x"
        #expect(board.post(["total": 5], to: name) == 1)
        #expect(owner.heard.all == ["3 1", "3 2", "-1 0", "4 1", "5 1"])
    }

    @Test func typedDictionariesKeepTheirType() {
        let name: ChannelName<[String: Int]> = "typed"
        board.listen(owner, to: name) { me, message in me.hear("\(message["total", default: 0])") }
        #expect(board.post(["total": 3], to: name) == 1)
        #expect(owner.heard.all == ["3"])
    }

    @Test func namesThatArriveAtRunTime() throws {
        let name = ["shop", "checkout"].joined(separator: ".")
        let channel = try board.channel(name, of: Checkout.self)
        #expect(channel === board.channel(.checkout))
        let validated = try ChannelName<Checkout>(validating: name)
        #expect(validated == .checkout)
        #expect(validated.text == name)
        channel.listen(owner) { me, checkout in me.hear("\(checkout.total)") }
        #expect(board.post(Checkout(total: 2), to: validated) == 1)
    }

    @Test func statesAndRequestsByName() async throws {
        let sales = board.state("shop.sales", initial: 3)
        #expect(board.state(ChannelName<Int>("shop.sales"), initial: 9) === sales)
        #expect(try board.state("shop.sales", of: Int.self, initial: 9).value == 3)
        board.state("shop.sales", initial: 0).listen(owner) { me, total in me.hear("\(total)") }
        sales.update { $0 += 1 }
        #expect(owner.heard.all == ["3", "4"])
        let price: RequestName<String, Int> = "shop.price"
        board.requests(price).respond(owner) { _, item in item.count }
        #expect(try await board.requests(price).ask("four") == 4)
        #expect(try await board.requests("shop.price", of: String.self, returning: Int.self).ask("x") == 1)
        #expect(board.removeChannel(price))
        #expect(board.removeChannel("shop.sales"))
        #expect(!board.removeChannel("shop.sales"))
        #expect(board.state("shop.sales", initial: 9).value == 9)
    }

    @Test func removeAllEndsEverything() {
        board.listen(owner, to: .checkout) { me, _ in me.hear("channel") }
        board.listen(owner, matching: ">") { me, _, _ in me.hear("pattern") }
        board.state("state", initial: 1).listen(owner) { _, _ in }
        #expect(board.post(Checkout(total: 1), to: .checkout) == 2)
        board.removeAll(owner)
        #expect(board.post(Checkout(total: 1), to: .checkout) == 0)
        #expect(board.state("state", initial: 1).isEmpty)
    }

    @Test func boardsAreMadeWithEveryOption() {
        _ = Switchboard(reentrancy: .queued, onFault: { _ in }, diagnostics: .counts)
        _ = Switchboard(diagnostics: .off)
        #expect(Switchboard.shared === Switchboard.shared)
    }
}
