import Channels
import ChannelsTesting
import Testing

// What users of other libraries look for, as one program. The target whose default isolation is the main actor compiles
// this file, too.

nonisolated private struct Sale: Sendable, Equatable {
    var dish: String
    var total: Int
}

nonisolated private struct Receipt: Sendable {
    let text: String
    init?(_ sale: Sale) {
        guard sale.total > 0 else { return nil }
        text = "\(sale.dish): \(sale.total)"
    }
}

@MainActor private final class Register {
    let lines = Recorder<String>()
    var isDone = false

    func show(_ text: some Any) { lines.record("\(text)") }
}

@MainActor struct EverydayTests {
    private let sold = Channel<Sale>()
    private let me = Register()

    private func sell(_ sales: (String, Int)...) {
        for (dish, total) in sales { sold.post(Sale(dish: dish, total: total)) }
    }

    @Test func adaptorsApplyToWhatPasses() async {
        sold.filter { $0.total > 100 }.listen(me, once: true) { me, sale in me.show(sale.dish) }
        sold.map(\.total).listen(me) { me, total in me.show(total) }
        sold.prefix(1).listen(me) { me, sale in me.show("first \(sale.dish)") }
        sold.prefix(while: { $0.dish != "last" }).listen(me) { me, sale in me.show("before the last: \(sale.dish)") }
        let receipts = sold.compactMap { Receipt($0) }.messages(buffering: .newest(8))
        sell(("tea", 2), ("cake", 120), ("gift", 0), ("last", 130))
        #expect(
            me.lines.all == [
                "2", "first tea", "before the last: tea", "cake", "120", "before the last: cake", "0",
                "before the last: gift", "130",
            ]
        )
        sold.finish()
        var texts: [String] = []
        for await receipt in receipts { texts.append(receipt.text) }
        #expect(texts == ["tea: 2", "cake: 120", "last: 130"])
    }

    @Test func anAsyncListenerSearchesForTheNewestOnly() async {
        let typed = Channel<String>()
        let gate = Gate()
        typed.listen(me, overlapping: .replace) { me, text in
            await gate.wait()
            if !Task.isCancelled { me.show("results for \(text)") }
        }
        for text in ["s", "sw", "swi"] { typed.post(text) }
        gate.open()
        await me.lines.wait(count: 1)
        #expect(me.lines.all.last == "results for swi")
    }

    @Test func whoListensIsKnownAndEndsAsItLikes() async throws {
        sold.listen(me) { me, sale in
            me.show(sale.dish)
            if me.isDone { ListenerToken.current?.cancel() }
        }
        #expect(sold.hasListeners(of: me))
        sell(("tea", 1))
        me.isDone = true
        sell(("cake", 1), ("gift", 1))
        #expect(!sold.hasListeners(of: me) && me.lines.all == ["tea", "cake"])
        let error = await #expect(throws: ChannelError.self) {
            try await sold.first(timeout: .milliseconds(1)) { $0.total > 100 }
        }
        #expect(error?.code == .timedOut)
        let token = sold.listen(me) { me, sale in me.show(sale.total) }
        await token.drain()
        sold.removeAllListeners()
        #expect(sold.post(Sale(dish: "tea", total: 1)) == 0)
    }

    @Test func statesAreWaitedForAndHeardFromTheNextValueOn() async {
        let total = StateChannel(0)
        total.updates.listen(me) { me, total in me.show(total) }
        await total.setAndWait(3)
        await total.updateAndWait { $0 += 1 }
        #expect(me.lines.all == ["3", "4"])
    }

    @Test func aSensorRunsWhileSomebodyListens() {
        let told = Recorder<Bool>()
        let position = Channel<Int>(onDemand: { position in
            position.post(1)
            told.record(true)
            return { told.record(false) }
        })
        let token = position.listen { _ in }
        token.cancel()
        #expect(told.all == [true, false])
    }

    @Test func everythingSaidOnABoardIsLogged() {
        let board = Switchboard()
        board.posts.listen(me) { me, post in me.show(post.message) }
        board[Sale.self].post(Sale(dish: "tea", total: 1))
        board.removeChannel(Sale.self)
        #expect(me.lines.all == ["\(Sale(dish: "tea", total: 1))"])
    }
}
