import Channels
import ChannelsTesting
import Testing

private struct Sales: Equatable, Sendable {
    var total = 0
}

struct StateChannelFormTests {
    private let sales = StateChannel(Sales(total: 1), onFault: { _ in })
    private let level = StateChannel(3)
    private let owner = FormListener()

    @Test func listenersHearTheCurrentValueWhenRegisteredLaterOnesByPriority() {
        sales.listen(owner) { me, sales in me.hear("a\(sales.total)") }
        sales.posts.listen(owner, priority: .high) { me, post in me.hear("b\(post.message.total) \(post.origin)") }
        sales.listen(owner) { me, sales in try me.hearOrThrow("c\(sales.total)") }
        let token = sales.listen { [owner] sales in owner.hear("d\(sales.total)") }
        sales.listen(owner, once: true) { me, sales in me.hear("e\(sales.total)") }
        #expect(owner.heard.all == ["a1", "b1 local", "c1", "d1", "e1"])
        sales.set(Sales(total: 2))
        #expect(owner.heard.all.suffix(4) == ["b2 local", "a2", "c2", "d2"])
        #expect(sales.listenerCount == 4)
        sales.removeListeners(of: owner)
        #expect(sales.listenerCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test func updateReturnsWhatItsBodyReturns() throws {
        sales.update { $0.total += 1 }
        let before = sales.update { sales in
            defer { sales.total = 10 }
            return sales.total
        }
        #expect(before == 2)
        #expect(try sales.update { sales throws(Trouble) -> Int in sales.total } == 10)
    }

    @Test func valuesAreMessages() async {
        var sales: StateChannel<Int>? = StateChannel(1)
        let newest = [sales!.messages(), sales!.messages(), sales!.messages(buffering: .newest(1), priority: .high)]
        let all = sales!.messages(buffering: .unbounded)
        for value in 2...4 { sales!.set(value) }
        sales = nil
        for values in newest { #expect(await values.reduce(into: [Int]()) { $0.append($1) } == [4]) }
        #expect(await all.reduce(into: [Int]()) { $0.append($1) } == [1, 2, 3, 4])
    }

    @Test(arguments: 0..<50)
    func changeThatRacesWithTheCallIsNotMissed(_ round: Int) async {
        let task = Task { [level] in await level.first { $0 == 100 } }
        if round.isMultiple(of: 2) { await Task.yield() }
        // Stored for good, and once only: whoever registers and then looks finds it, before or after.
        level.set(100)
        #expect(await task.value == 100)
    }

    @Test func stateThatGoesEndsTheWait() async {
        let task: Task<Int?, Never>
        do {
            let short = StateChannel(1)
            task = Task { [weak short] in await short?.first { $0 > 5 } }
            await wait(for: short.isEmpty) { !$0 }
        }
        #expect(await task.value == nil)
    }

    @Test @MainActor func predicateRunsOnTheCallersActorAndMayUseTheChannel() async {
        let view = FormView()
        let found = await level.first { value in
            view.hear("\(value)")
            if level.value < 6 { level.set(value + 1) }
            return value == 6
        }
        #expect(found == 6)
        #expect(view.heard == ["3", "4", "5", "6"])
    }
}
