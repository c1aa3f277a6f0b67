import Channels
import ChannelsTesting
import Dispatch
import Testing

private struct Sales: Sendable, Equatable {
    var total = 0
    var dish = ""
}

struct MappedStateTests {
    private let sales = StateChannel(Sales())

    @Test func listenerHearsTheCurrentPartThenEveryChangeOfIt() {
        let heard = Recorder(of: sales.map(\.total).removingDuplicates())
        sales.update { $0.dish = "soup" }
        sales.update { $0.total = 4 }
        sales.update { $0.dish = "cake" }
        sales.update { $0.total = 7 }
        #expect(heard.all == [0, 4, 7])
        #expect(sales.map(\.total).removingDuplicates().value == 7)
    }

    @Test func mapDeliversThePartOfEveryValueWhetherOrNotItIsEquatable() {
        struct Named: Sendable { let dish: String }
        let (totals, dishes) = (Recorder(of: sales.map(\.total)), Recorder(of: sales.map { Named(dish: $0.dish) }))
        sales.update { $0.dish = "soup" }
        sales.update { $0.dish = "cake" }
        #expect(totals.all == [0, 0, 0])
        #expect(dishes.all.map(\.dish) == ["", "soup", "cake"])
        #expect(sales.map { Named(dish: $0.dish) }.value.dish == "cake")
    }

    @Test func partsOfPartsKeepTheirValue() {
        let length = sales.map(\.dish).map(\.count).removingDuplicates()
        let heard = Recorder(of: length)
        for dish in ["soup", "cake", "tea"] { sales.update { $0.dish = dish } }
        #expect(heard.all == [0, 4, 3] && length.value == 3)
        let even = Recorder(of: length.map { $0 % 2 }.removingDuplicates())
        for dish in ["water", "soup", "cider"] { sales.update { $0.dish = dish } }
        #expect(even.all == [1, 0, 1])
    }

    @Test func aStateWithoutDuplicatesKeepsItsValue() {
        let different = sales.removingDuplicates()
        let heard = Recorder(of: different)
        sales.set(Sales())
        sales.set(Sales(total: 1))
        sales.set(Sales(total: 1))
        #expect(heard.all == [Sales(), Sales(total: 1)] && different.value == Sales(total: 1))
    }

    @Test func listenerKeepsItsPlaceAmongThoseOfTheState() {
        let heard = Recorder<String>()
        let tokens = [
            sales.listen { _ in heard.record("state") },
            sales.map(\.total).removingDuplicates().listen(priority: .high) { _ in heard.record("part") },
        ]
        _ = heard.takeAll()
        sales.set(Sales(total: 1))
        #expect(heard.all == ["part", "state"])
        withExtendedLifetime(tokens) {}
    }

    @Test func onceHearsTheCurrentPartOnly() {
        let heard = Recorder<Int>()
        let token = sales.map(\.total).removingDuplicates().listen(once: true) { heard.record($0) }
        sales.set(Sales(total: 1))
        #expect(heard.all == [0])
        #expect(!token.isActive)
    }

    @Test func listenersOnQueuesActorsAndInTasksHearChangesOnly() async {
        let (queued, awaited, acted) = (Recorder<Int>(), Recorder<Int>(), Recorder<Int>())
        let tokens = [
            sales.map(\.total).removingDuplicates().listen(on: .global()) { queued.record($0) },
            sales.map(\.total).removingDuplicates().listen { total in
                await Task.yield()
                awaited.record(total)
            },
            sales.map(\.total).removingDuplicates().listen { @MainActor total in acted.record(total) },
        ]
        for total in [0, 1, 1, 2] { sales.update { $0 = Sales(total: total, dish: $0.dish + "x") } }
        for heard in [queued, awaited, acted] { #expect(await heard.first(3) == [0, 1, 2]) }
        withExtendedLifetime(tokens) {}
    }

    @Test func sequenceYieldsTheCurrentPartAndEveryChangeUntilTheStateGoes() async {
        var state: StateChannel<Sales>? = StateChannel(Sales())
        let totals = state!.map(\.total).removingDuplicates().messages(buffering: .unbounded)
        for total in [0, 1, 1, 2] { state!.update { $0 = Sales(total: total, dish: $0.dish + "x") } }
        state = nil
        #expect(await totals.reduce(into: [Int]()) { $0.append($1) } == [0, 1, 2])
    }

    @Test func twoReadersOfOneSequenceReadEachPartOnce() async {
        let totals = sales.map(\.total).removingDuplicates().messages(buffering: .unbounded)
        async let first = totals.prefix(500).reduce(into: []) { $0.append($1) }
        async let second = totals.prefix(500).reduce(into: []) { $0.append($1) }
        for total in 1..<1_000 { sales.set(Sales(total: total)) }
        #expect(await (first + second).sorted() == Array(0..<1_000))
    }

    @Test func sequenceKeepsTheNewestPartByDefault() async {
        var totals = sales.map(\.total).removingDuplicates().messages().makeAsyncIterator()
        for total in 1...5 { sales.set(Sales(total: total)) }
        #expect(await totals.next() == 5)
    }

    @Test func sequenceThatIsReleasedStopsListening() {
        do {
            let totals = sales.map(\.total).removingDuplicates().messages()
            #expect(sales.listenerCount == 1)
            withExtendedLifetime(totals) {}
        }
        #expect(sales.listenerCount == 0)
    }

    @Test func listenersEndWithTheOwnerAndDoNotKeepTheState() {
        var state: StateChannel<Sales>? = StateChannel(Sales())
        weak let gone = state
        let token = state?.map(\.total).listen { _ in }
        do {
            let owner = Owner()
            state?.map(\.total).listen(owner) { _, _ in }
            #expect(state?.listenerCount == 2)
        }
        #expect(state?.listenerCount == 1)
        state = nil
        #expect(gone == nil)
        #expect(token?.isActive == false)
    }

    @Test func pausedListenerHearsThePartAfterwardsIfItHasChanged() {
        let heard = Recorder<Int>()
        let token = sales.map(\.total).removingDuplicates().listen { heard.record($0) }
        token.pause()
        sales.set(Sales(total: 1))
        sales.set(Sales(total: 0))
        token.resume()
        #expect(heard.all == [0])
        token.pause()
        sales.set(Sales(total: 2))
        token.resume()
        #expect(heard.all == [0, 2])
    }

    @Test func lastPartHeardIsTheOneStoredWhateverRaces() async {
        let sales = sales
        let heard = Recorder(of: sales.map { $0.total / 10 }.removingDuplicates())
        await onThreads(4) { _ in
            for _ in 0..<250 { sales.update { $0.total += 1 } }
        }
        let all = await heard.wait { $0.last == 100 }
        #expect(all == Array(0...100))
    }

    @Test func comparingMayUseTheState() {
        struct Nosy: Equatable, Sendable {
            let state: StateChannel<Int>
            let value: Int
            static func == (left: Nosy, right: Nosy) -> Bool {
                _ = left.state.value
                return left.value == right.value
            }
        }
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.map { [weak state] value in Nosy(state: state ?? StateChannel(0), value: value) }
            .removingDuplicates().listen { heard.record($0.value) }
        state.set(0)
        state.set(1)
        #expect(heard.all == [0, 1])
        withExtendedLifetime(token) {}
    }
}
