import Synchronization
import Testing

@testable import Channels

/// When the record of a thread that has ended may be used again. Scans count themselves in one of two counters.
struct EndedThreadsTests {
    private final class Run {
        var ended = EndedThreads()
        let turn = Atomic<Int>(0)
        /// How many scans are under way, by counter.
        var scans = [0, 0]

        func add(_ count: Int) { for _ in 0..<count { ended.add(.make(group: 1)) } }

        /// How many records may be used again; they are freed.
        func advance() -> Int {
            var free = ended.advance(turn) { scans[$0] == 0 }
            let count = free.count
            var freed = 0
            while let record = free.popFirst() {
                record.free()
                freed += 1
            }
            #expect(freed == count && free.isEmpty && free.count == 0)
            return count
        }

        /// A scan begins: its counter.
        func begin() -> Int {
            let counter = turn.load(ordering: .relaxed)
            scans[counter] += 1
            return counter
        }
    }

    @Test func withoutAScanTheyAreFreeAtOnce() {
        let run = Run()
        #expect(run.advance() == 0)
        for count in 1...3 {
            run.add(count)
            #expect(run.advance() == count)
            #expect(run.advance() == 0)
        }
    }

    @Test func theyWaitForTheScansThatHadBegunAndNotForLaterOnes() {
        let run = Run()
        let early = run.begin()
        run.add(2)
        #expect(run.advance() == 0)
        let late = run.begin()
        #expect(late != early)
        // Of a later generation.
        run.add(3)
        #expect(run.advance() == 0)
        run.scans[early] -= 1
        #expect(run.advance() == 2)
        // These wait for the late one.
        #expect(run.advance() == 0)
        run.scans[late] -= 1
        #expect(run.advance() == 3)
        #expect(run.advance() == 0)
    }

    @Test func theCountersChangePlacesOnlyWhenNoOlderScanIsLeft() {
        let run = Run()
        let first = run.begin()
        run.add(1)
        #expect(run.advance() == 0)
        let second = run.begin()
        run.scans[first] -= 1
        #expect(run.advance() == 1)
        run.add(1)
        let third = run.begin()
        #expect(third == second)
        #expect(run.advance() == 0)
        let fourth = run.begin()
        #expect(fourth == first)
        run.scans[second] = 0
        #expect(run.advance() == 1)
        run.scans[fourth] -= 1
    }
}
