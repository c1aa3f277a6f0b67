import Channels
import ChannelsTesting
import Testing

extension FormActor {
    /// What is called with `await` and what is called without stand in one closure.
    fileprivate func wire(_ prices: RequestChannel<String, Int>) {
        prices.respond(self) { me, item in
            await me.hearLater(item)
            me.heard.append("\(item)!")
            return item.count * 10
        }
    }
}

extension FormView {
    fileprivate func wire(_ prices: RequestChannel<String, Int>) {
        prices.respond(self) { me, item in
            me.hear(item)
            return item.count
        }
    }
}

struct RequestFormTests {
    let prices = RequestChannel<String, Int>()
    let owner = FormListener()

    @Test func respondersOfEveryIsolation() async throws {
        let (view, actor) = (FormView(), FormActor())
        let plain = prices.respond(owner) { _, item in item.count * 100 }
        #expect(try await prices.ask("ab") == 200)
        plain.cancel()
        await view.wire(prices)
        #expect(try await prices.ask("ab") == 2)
        prices.removeListeners(of: view)
        await actor.wire(prices)
        #expect(try await prices.ask("ab") == 20)
        prices.respond(actor, priority: 1) { me, item in me.heard.count }
        #expect(try await prices.ask("abc") == 2)
        prices.respond(view, priority: 2) { @MainActor me, item in me.heard.count }
        #expect(try await prices.ask("abc") == 1)
        #expect(await actor.heard == ["ab", "ab!"])
    }

    @Test func asyncThrowingAndOwnerlessResponders() async throws {
        prices.respond(owner) { me, item in
            await me.hearLater(item)
            return 1
        }
        prices.respond(owner, priority: .high) { _, item in throw Trouble(text: item) }
        let token = prices.respond(priority: .low) { item in item.count }
        #expect(prices.listenerCount == 3)
        await #expect(throws: Trouble(text: "abc")) { try await prices.ask("abc") }
        #expect(await prices.askAll("abc").map { try? $0.get() } == [nil, 1, 3])
        let saves = RequestChannel<String, Void>()
        saves.respond(owner) { me, text in me.hear(text) }
        try await saves.ask("saved")
        #expect(owner.heard.all.last == "saved")
        withExtendedLifetime(token) {}
    }

    @Test func nobodyRespondsNamesTheChannelAndItsTypes() async {
        let board = Switchboard()
        for (prices, text) in [(prices, "RequestChannel<"), (board.requests("shop.price"), "'shop.price', a ")] {
            let error = await #expect(throws: ChannelError.self) { try await prices.ask("x", timeout: .seconds(60)) }
            #expect(error?.code == .noResponder)
            #expect(error?.name == prices.name)
            #expect(error?.description.contains(text) == true)
            #expect(error?.description.contains("RequestChannel<String, Int>") == true)
            #expect(await prices.askAll("x").isEmpty)
        }
    }
}
