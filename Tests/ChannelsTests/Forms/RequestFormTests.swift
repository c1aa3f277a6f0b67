import Channels
import Testing

extension FormView {
    fileprivate func price(of item: String) -> Int {
        MainActor.assertIsolated()
        heard.append(item)
        return item.count
    }

    fileprivate func wire(_ prices: RequestChannel<String, Int>) {
        prices.respond(self) { me, item in me.price(of: item) }
    }
}

extension FormActor {
    fileprivate func price(of item: String) -> Int {
        assertIsolated()
        return item.count * 10
    }

    fileprivate func wire(_ prices: RequestChannel<String, Int>) {
        prices.respond(self) { me, item in me.price(of: item) }
    }
}

struct RequestFormTests {
    let prices = RequestChannel<String, Int>()
    let owner = FormListener()

    @Test func respondersOfEveryIsolation() async throws {
        let view = FormView()
        let actor = FormActor()
        let plain = prices.respond(owner) { _, item in item.count * 100 }
        #expect(try await prices.ask("ab") == 200)
        plain.cancel()
        await view.wire(prices)
        #expect(try await prices.ask("ab") == 2)
        prices.removeResponders(of: view)
        await actor.wire(prices)
        #expect(try await prices.ask("ab") == 20)
        prices.removeResponders(of: actor)
        prices.respond(actor) { (me: isolated FormActor, item) in me.price(of: item) }
        #expect(try await prices.ask("abc") == 30)
        prices.removeResponders(of: actor)
        prices.respond(view) { @MainActor me, item in me.price(of: item) }
        #expect(try await prices.ask("abc") == 3)
        #expect(await view.heard == ["ab", "abc"])
    }

    @Test func asyncThrowingAndOwnerlessResponders() async {
        prices.respond(owner) { me, item in
            await me.hearLater(item)
            return 1
        }
        prices.respond(owner, priority: .high) { me, item in
            try await me.hearLaterOrThrow(item)
            return 2
        }
        let token = prices.respond(priority: .low) { item in item.count }
        #expect(prices.responderCount == 3)
        await #expect(throws: FormError(text: "abc")) { try await prices.ask("abc") }
        let all = await prices.askAll("abc")
        #expect(all.map { try? $0.get() } == [nil, 1, 3])
        withExtendedLifetime(token) {}
    }

    @Test func nobodyResponds() async {
        let error = await #expect(throws: ChannelError.self) { try await prices.ask("x") }
        #expect(error?.code == .noResponder)
        #expect(await prices.askAll("x").isEmpty)
        #expect(prices.isEmpty)
    }

    @Test func cancelledAskerLeavesAtOnce() async {
        let (asked, begin) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        prices.respond(owner) { _, _ in
            begin.yield()
            // Does not listen to cancellation.
            await Task.detached { for await _ in gate { break } }.value
            return 1
        }
        let task = Task { [prices] in try await prices.ask("x") }
        for await _ in asked { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        open.yield()
    }

    @Test func voidResponses() async throws {
        let saves = RequestChannel<String, Void>()
        saves.respond(owner) { me, text in me.hear(text) }
        try await saves.ask("saved")
        #expect(owner.heard.all == ["saved"])
    }
}
