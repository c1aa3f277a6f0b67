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
        let heard = Recorder(of: sales.map(\.total))
        sales.update { $0.dish = "soup" }
        sales.update { $0.total = 4 }
        sales.update { $0.dish = "cake" }
        sales.update { $0.total = 7 }
        #expect(heard.all == [0, 4, 7])
        #expect(sales.map(\.total).value == 7)
    }

    @Test func mappingToItselfRemovesDuplicates() {
        let heard = Recorder(of: sales.map(\.self))
        sales.set(Sales())
        sales.set(Sales(total: 1))
        sales.set(Sales(total: 1))
        #expect(heard.all == [Sales(), Sales(total: 1)])
    }

    @Test func listenerKeepsItsPlaceAmongThoseOfTheState() {
        let heard = Recorder<String>()
        let tokens = [
            sales.listen { _ in heard.record("state") },
            sales.map(\.total).listen(priority: .high) { _ in heard.record("part") },
        ]
        _ = heard.takeAll()
        sales.set(Sales(total: 1))
        #expect(heard.all == ["part", "state"])
        withExtendedLifetime(tokens) {}
    }

    @Test func onceHearsTheCurrentPartOnly() {
        let heard = Recorder<Int>()
        let token = sales.map(\.total).listen(once: true) { heard.record($0) }
        sales.set(Sales(total: 1))
        #expect(heard.all == [0])
        #expect(!token.isActive)
    }

    @Test func listenersOnQueuesActorsAndInTasksHearChangesOnly() async {
        let (queued, awaited, acted) = (Recorder<Int>(), Recorder<Int>(), Recorder<Int>())
        let tokens = [
            sales.map(\.total).listen(on: .global()) { queued.record($0) },
            sales.map(\.total).listen { total in
                await Task.yield()
                awaited.record(total)
            },
            sales.map(\.total).listen { @MainActor total in acted.record(total) },
        ]
        for total in [0, 1, 1, 2] { sales.update { $0 = Sales(total: total, dish: $0.dish + "x") } }
        for heard in [queued, awaited, acted] { #expect(await heard.first(3) == [0, 1, 2]) }
        withExtendedLifetime(tokens) {}
    }

    @Test func sequenceYieldsTheCurrentPartAndEveryChangeUntilTheStateGoes() async {
        var state: StateChannel<Sales>? = StateChannel(Sales())
        let totals = state!.map(\.total).messages(buffering: .unbounded)
        for total in [0, 1, 1, 2] { state!.update { $0 = Sales(total: total, dish: $0.dish + "x") } }
        state = nil
        #expect(await totals.reduce(into: [Int]()) { $0.append($1) } == [0, 1, 2])
    }

    @Test func aPartThatHasChangedAndChangedBackIsNotReadAgain() async {
        let heard = Recorder<Int>()
        let totals = sales.map(\.total).messages()
        let reading = Task { for await total in totals { heard.record(total) } }
        for total in 1...1_000 {
            sales.set(Sales(total: total))
            _ = await heard.wait { $0.last == total }
            sales.set(Sales(total: -1))
            sales.set(Sales(total: total))
        }
        reading.cancel()
        #expect(zip(heard.all, heard.all.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func twoReadersOfOneSequenceReadEachPartOnce() async {
        let totals = sales.map(\.total).messages(buffering: .unbounded)
        async let first = totals.prefix(500).reduce(into: []) { $0.append($1) }
        async let second = totals.prefix(500).reduce(into: []) { $0.append($1) }
        for total in 1..<1_000 { sales.set(Sales(total: total)) }
        #expect(await (first + second).sorted() == Array(0..<1_000))
    }

    @Test func sequenceKeepsTheNewestPartByDefault() async {
        var totals = sales.map(\.total).messages().makeAsyncIterator()
        for total in 1...5 { sales.set(Sales(total: total)) }
        #expect(await totals.next() == 5)
    }

    @Test func sequenceThatIsReleasedStopsListening() {
        do {
            let totals = sales.map(\.total).messages()
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
        let token = sales.map(\.total).listen { heard.record($0) }
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
        let heard = Recorder(of: sales.map { $0.total / 10 })
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
            .listen { heard.record($0.value) }
        state.set(0)
        state.set(1)
        #expect(heard.all == [0, 1])
        withExtendedLifetime(token) {}
    }
}
