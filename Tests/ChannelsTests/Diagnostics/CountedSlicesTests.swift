import Testing

@testable import Channels

struct CountedSlicesTests {
    @Test func whatIsAlwaysCountedIsExact() {
        let slices = CountedSlices(at: 100)
        #expect(slices.all(at: 1_000, posts: 7) == 7)
        #expect(slices.share(at: 1_000) == nil)
    }

    @Test func betweenSlicesTheRateIsThatOfTheSliceBefore() {
        var slices = CountedSlices(at: 0)
        // A post each 10 ns.
        slices.stop(at: 100, posts: 11, cost: 0)
        #expect(slices.all(at: 100, posts: 11) == 11)
        #expect(slices.all(at: 300, posts: 11) == 31)
        #expect(slices.share(at: 400) == 0.25)
        slices.goOn(at: 400, posts: 11)
        #expect(slices.all(at: 400, posts: 11) == 41)
        // Nothing comes any more.
        #expect(slices.all(at: 5_000, posts: 11) == 41)
        #expect(slices.share(at: 600) == 0.5)
    }

    @Test func whatCountingItselfTakesIsNotTakenForTheRate() {
        var slices = CountedSlices(at: 0)
        // A post each 30 ns, of which counting takes 10.
        slices.stop(at: 300, posts: 11, cost: 10)
        #expect(slices.all(at: 500, posts: 11) == 21)
        // It cannot be all.
        slices = CountedSlices(at: 0)
        slices.stop(at: 300, posts: 11, cost: 1_000)
        #expect(slices.all(at: 1_500, posts: 11) == 111)
    }

    @Test func whatWasSlowedByTracingIsNotTakenForTheRate() {
        var slices = CountedSlices(at: 0)
        slices.takeRate(from: 10_000, posts: 3)
        slices.stop(at: 10_100, posts: 14, cost: 0)
        #expect(slices.all(at: 10_200, posts: 14) == 24)
    }

    @Test(arguments: 1...20)
    func theEstimateNeverGoesBack(seed: Int) {
        var random = SeededGenerator(seed: seed)
        var slices = CountedSlices(at: 0)
        var (time, posts, last) = (0, 0, 0)
        for _ in 0..<500 {
            time += Int.random(in: 0...1_000, using: &random)
            if slices.isOpen { posts += Int.random(in: 0...100, using: &random) }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: slices.stop(at: time, posts: posts, cost: Int.random(in: 0...50, using: &random))
            case 1: slices.goOn(at: time, posts: posts)
            default: break
            }
            let all = slices.all(at: time, posts: posts)
            #expect(all >= last)
            let share = slices.share(at: time) ?? 1
            #expect((0...1).contains(share))
            last = all
        }
    }
}
