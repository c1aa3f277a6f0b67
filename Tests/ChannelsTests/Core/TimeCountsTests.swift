import Testing

@testable import Channels
@testable import ChannelsDiagnostics

struct TimeCountsTests {
    @Test func timesAreCountedByClassWithTheirSumAndTheLongest() {
        let counts = TimeCounts()
        #expect(counts.histogram.numbers == [.zero, .zero])
        for time: Int64 in [-5, 0, 1, 2, 3, 4, 1_000, 7] { counts.add(time) }
        #expect(counts.histogram.counts == [2, 1, 2, 2, 0, 0, 0, 0, 0, 0, 1])
        #expect(counts.histogram.total == .nanoseconds(1_017))
        #expect(counts.histogram.longest == .nanoseconds(1_000))
    }

    @Test func whatIsTooLongForEveryClassIsInTheLast() {
        let counts = TimeCounts()
        counts.add(.max)
        #expect(counts.histogram.counts.count == 40 && counts.histogram.counts.last == 1)
    }

    @Test func startedOverNothingIsLeft() {
        let counts = TimeCounts()
        counts.add(1_000)
        counts.reset()
        #expect(counts.histogram.numbers == [.zero, .zero])
        counts.add(3)
        #expect(counts.histogram.numbers == [0, 0, 1, 3, 3].map { .nanoseconds($0) })
    }

    @Test func aPercentileIsTheEndOfItsClassOrTheLongest() {
        let histogram = ListenerSnapshot.Histogram(
            counts: [1, 0, 2, 0, 1],
            total: .nanoseconds(15),
            longest: .nanoseconds(9)
        )
        for share in [-1, 0, 0.25] { #expect(histogram.quantile(share) == .nanoseconds(1)) }
        for share in [0.26, 0.5, 0.75] { #expect(histogram.quantile(share) == .nanoseconds(4)) }
        for share in [0.76, 1, 2, .infinity] { #expect(histogram.quantile(share) == .nanoseconds(9)) }
        #expect(histogram.count == 4 && histogram.mean == .nanoseconds(15) / 4 && histogram.longest == .nanoseconds(9))
        let empty = ListenerSnapshot.Histogram(counts: [], total: .zero, longest: .zero)
        #expect(empty.quantile(0.5) == nil && empty.mean == nil)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aShareThatIsNoNumberIsNamed() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ListenerSnapshot.Histogram(counts: [1], total: .zero, longest: .zero).quantile(.nan)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Histogram.quantile(nan): the share must be between 0 and 1"))
    }
    #endif
}

extension ListenerSnapshot.Histogram {
    fileprivate var numbers: [Duration] { counts.map { .nanoseconds($0) } + [total, longest] }
}
