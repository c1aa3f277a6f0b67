import Channels
import Dispatch
import Testing

private struct Sales: Equatable, Sendable {
    var total = 0
}

@MainActor
private final class SalesView {
    var totals: [Int] = []
    let sales: StateChannel<Sales>

    init(_ sales: StateChannel<Sales>) {
        self.sales = sales
        sales.listen(self) { me, sales in me.totals.append(sales.total) }
    }
}

struct StateChannelFormTests {
    private let sales = StateChannel(Sales(total: 1), onFault: { _ in })
    private let owner = FormListener()

    @Test func synchronousForms() {
        sales.listen(owner) { me, sales in me.hear("a\(sales.total)") }
        sales.listen(owner, priority: .high) { me, sales, info in me.hear("b\(sales.total) \(info.origin)") }
        sales.listen(owner, context: 2) { me, sales, two in me.hear("c\(sales.total * two)") }
        sales.listen(owner) { me, sales in try me.hearOrThrow("d\(sales.total)") }
        let token = sales.listen { [owner] sales in owner.hear("e\(sales.total)") }
        #expect(owner.heard.all == ["a1", "b1 local", "c2", "d1", "e1"])
        sales.set(Sales(total: 2))
        #expect(owner.heard.all.suffix(5) == ["b2 local", "a2", "c4", "d2", "e2"])
        #expect(sales.listenerCount == 5)
        sales.removeListeners(of: owner)
        #expect(sales.listenerCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test func updateReturnsAndThrows() throws {
        sales.update { $0.total += 1 }
        let before = sales.update { sales in
            defer { sales.total = 10 }
            return sales.total
        }
        #expect(before == 2)
        #expect(sales.value == Sales(total: 10))
        #expect(throws: FormError.self) {
            try sales.update { sales in
                sales.total = 99
                throw FormError()
            }
        }
        #expect(sales.value.total == 10)
        let typed = try sales.update { sales throws(FormError) -> Int in sales.total }
        #expect(typed == 10)
    }

    @Test @MainActor func mainActorListenerHasItsFirstValueBeforeListenReturns() {
        let view = SalesView(sales)
        #expect(view.totals == [1])
        sales.set(Sales(total: 2))
        sales.update { $0.total += 1 }
        #expect(view.totals == [1, 2, 3])
    }

    @Test func asyncQueueAndIsolatedForms() async {
        let queue = DispatchQueue(label: "forms")
        let actor = FormActor()
        let seen = AsyncStream.makeStream(of: String.self)
        sales.listen(owner) { _, sales in
            await Task.yield()
            seen.continuation.yield("async \(sales.total)")
        }
        sales.listen(owner, on: queue) { _, sales in
            dispatchPrecondition(condition: .onQueue(queue))
            seen.continuation.yield("queue \(sales.total)")
        }
        sales.listen(actor) { (me: isolated FormActor, sales) in
            me.assertIsolated()
            seen.continuation.yield("actor \(sales.total)")
        }
        sales.set(Sales(total: 2))
        var heard: [String] = []
        for await text in seen.stream {
            heard.append(text)
            if heard.count == 6 { break }
        }
        #expect(heard.sorted() == ["actor 1", "actor 2", "async 1", "async 2", "queue 1", "queue 2"])
        for kind in ["actor", "async", "queue"] {
            #expect(heard.filter { $0.hasPrefix(kind) } == ["\(kind) 1", "\(kind) 2"])
        }
        withExtendedLifetime((owner, actor)) {}
    }

    @Test func valuesBeginWithTheCurrentOneAndEndWithTheLast() async {
        var sales: StateChannel<Int>? = StateChannel(1)
        let newest = sales!.values()
        let all = sales!.values(buffering: .unbounded)
        for value in 2...4 { sales!.set(value) }
        sales = nil
        var heard: [Int] = []
        for await value in newest { heard.append(value) }
        #expect(heard == [4])
        heard = []
        for await value in all { heard.append(value) }
        #expect(heard == [1, 2, 3, 4])
    }

    @Test func resumedListenerGetsTheCurrentValue() {
        let token = sales.listen(owner) { me, sales in me.hear("\(sales.total)") }
        token.pause()
        sales.set(Sales(total: 2))
        sales.set(Sales(total: 3))
        token.resume()
        sales.set(Sales(total: 4))
        #expect(owner.heard.all == ["1", "3", "4"])
    }
}
