import Channels
import Testing

/// `next(where:)` of a state: the current value or a later one, none left out.
struct StateNextFormTests {
    private let level = StateChannel(3)

    @Test func currentValueThatSatisfiesIsReturnedAtOnce() async {
        #expect(await level.next { $0 > 2 } == 3)
        #expect(await level.next(where: { _ in true }) == 3)
        #expect(level.isEmpty)
    }

    @Test func laterValueThatSatisfiesIsReturnedThoughItWasReplaced() async {
        let task = Task { [level] in await level.next { $0 > 5 } }
        while level.isEmpty { await Task.yield() }
        for value in [4, 5, 9, 1] { level.set(value) }
        #expect(await task.value == 9)
        #expect(level.value == 1)
        #expect(level.isEmpty)
    }

    @Test(arguments: 0..<50)
    func changeThatRacesWithTheCallIsNotMissed(_ round: Int) async {
        let task = Task { [level] in await level.next { $0 == 100 } }
        if round.isMultiple(of: 2) { await Task.yield() }
        // Stored for good, and once only: whoever registers and then looks finds it, before or after.
        level.set(100)
        #expect(await task.value == 100)
    }

    @Test func cancelledTaskGetsNil() async {
        let waiting = Task { [level] in await level.next { $0 > 5 } }
        while level.isEmpty { await Task.yield() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let late = Task { [level] in
            for await _ in begun { break }
            return await level.next { $0 == 3 }
        }
        late.cancel()
        begin.yield()
        #expect(await late.value == nil)
    }

    @Test func stateThatGoesEndsTheWait() async {
        let task: Task<Int?, Never>
        do {
            let short = StateChannel(1)
            task = Task { [weak short] in await short?.next { $0 > 5 } }
            while short.isEmpty { await Task.yield() }
        }
        #expect(await task.value == nil)
    }

    @Test @MainActor func predicateRunsOnTheCallersActorAndMayUseTheChannel() async {
        let view = FormView()
        let found = await level.next { value in
            view.hear("\(value)")
            if level.value < 6 { level.set(value + 1) }
            return value == 6
        }
        #expect(found == 6)
        #expect(view.heard == ["3", "4", "5", "6"])
    }
}
