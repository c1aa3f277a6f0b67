import Channels
import ChannelsTesting
import Testing

/// The example of the guide *Async listeners and sequences*.
@MainActor private final class SearchField {
    private(set) var results: [String] = []

    init(
        _ typed: Channel<String>,
        search: @escaping @Sendable (String) async throws -> [String],
        pause: @escaping @Sendable () async throws -> Void
    ) {
        typed.listen(self, overlapping: .replace) { me, text in
            try await pause()
            me.results = try await search(text)
        }
    }
}

/// A search as somebody types, whose pauses and answers take as long as the test says.
@MainActor struct SearchAsYouTypeTests {
    private let faults = Recorder<Fault>()
    private let typed: Channel<String>
    private let paused = Tally()
    private let searched = Recorder<String>()
    private let pauseIsOver = Gate()
    private let answerIsThere = Gate()

    init() { typed = Channel(onFault: { [faults] in faults.record($0) }) }

    private func makeField() -> SearchField {
        SearchField(typed) { text in
            searched.record(text)
            try await answerIsThere.waitUnlessCancelled()
            return ["\(text) 1", "\(text) 2"]
        } pause: {
            paused.add()
            try await pauseIsOver.waitUnlessCancelled()
        }
    }

    @Test func whileKeysFollowEachOtherNothingIsSearched() async {
        let field = makeField()
        for (index, text) in ["s", "so", "sou", "soup"].enumerated() {
            typed.post(text)
            await paused.wait(until: index + 1)
        }
        #expect(searched.all == [])
        pauseIsOver.open()
        answerIsThere.open()
        await wait(for: field.results) { !$0.isEmpty }
        #expect(searched.all == ["soup"])
        #expect(field.results == ["soup 1", "soup 2"])
        #expect(faults.all.isEmpty)
    }

    @Test func aSearchThatANewTextReplacesShowsNothing() async {
        let field = makeField()
        pauseIsOver.open()
        typed.post("tea")
        await searched.wait(count: 1)
        async let report = typed.postAndWait("cake")
        await searched.wait(count: 2)
        #expect(field.results == [])
        answerIsThere.open()
        #expect(await report.completedCount == 1)
        #expect(searched.all == ["tea", "cake"])
        #expect(field.results == ["cake 1", "cake 2"])
        #expect(faults.all.isEmpty)
    }

    @Test func aPostThatIsReplacedIsReportedAsDropped() async {
        let field = makeField()
        pauseIsOver.open()
        async let first = typed.postAndWait("tea")
        await searched.wait(count: 1)
        async let second = typed.postAndWait("cake")
        #expect(await first.droppedCount == 1)
        answerIsThere.open()
        #expect(await second.isComplete)
        withExtendedLifetime(field) {}
    }

    @Test func aScreenThatRemovesItsListenersCancelsItsSearch() async {
        let field = makeField()
        pauseIsOver.open()
        async let report = typed.postAndWait("tea")
        await searched.wait(count: 1)
        await typed.removeListenersAndWait(of: field)
        #expect(field.results == [] && typed.isEmpty)
        #expect(await report.completedCount == 0)
    }
}
