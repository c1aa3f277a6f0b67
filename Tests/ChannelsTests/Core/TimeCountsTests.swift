import Testing

@testable import Channels

struct TimeCountsTests {
    @Test func timesAreCountedByClassWithTheirSumAndTheLongest() {
        let counts = TimeCounts()
        #expect(counts.histogram.numbers == [0, 0])
        for time: Int64 in [-5, 0, 1, 2, 3, 4, 1_000, 7] { counts.add(time) }
        #expect(counts.histogram.counts == [2, 1, 2, 2, 0, 0, 0, 0, 0, 0, 1])
        #expect(counts.histogram.totalNanoseconds == 1_017)
        #expect(counts.histogram.longestNanoseconds == 1_000)
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
        #expect(counts.histogram.numbers == [0, 0])
        counts.add(3)
        #expect(counts.histogram.numbers == [0, 0, 1, 3, 3])
    }

    @Test func aPercentileIsTheEndOfItsClassOrTheLongest() {
        let histogram = Histogram(counts: [1, 0, 2, 0, 1], totalNanoseconds: 15, longestNanoseconds: 9)
        for share in [-1, 0, 0.25] { #expect(histogram.percentile(share) == .nanoseconds(1)) }
        for share in [0.26, 0.5, 0.75] { #expect(histogram.percentile(share) == .nanoseconds(4)) }
        for share in [0.76, 1, 2, .infinity] { #expect(histogram.percentile(share) == .nanoseconds(9)) }
        #expect(histogram.count == 4 && histogram.mean == .nanoseconds(3) && histogram.longest == .nanoseconds(9))
        #expect(Histogram().percentile(0.5) == nil && Histogram().mean == nil)
    }
}

extension Histogram {
    fileprivate var numbers: [Int64] { counts.map { Int64($0) } + [totalNanoseconds, longestNanoseconds] }
}
