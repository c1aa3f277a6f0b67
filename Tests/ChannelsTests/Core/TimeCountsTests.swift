import Testing

@testable import Channels

struct TimeCountsTests {
    @Test func timesAreCountedByClassWithTheirSumAndTheLongest() {
        let counts = TimeCounts()
        #expect(counts.histogram == Histogram())
        for time in [-5, 0, 1, 2, 3, 4, 1_000, 7] { counts.add(time) }
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
        counts.startOver()
        #expect(counts.histogram == Histogram())
        counts.add(3)
        #expect(counts.histogram == Histogram(counts: [0, 0, 1], totalNanoseconds: 3, longestNanoseconds: 3))
    }
}
