import Testing

@testable import Channels

struct ReaderTurnTests {
    @Test func aTurnEndsAfterAMillisecondAndTheNextBeginsAnew() {
        var turn = ReaderTurn()
        for _ in 0..<3 {
            let start = ContinuousClock.now
            var count = 0
            while !turn.endIfDue() { count += 1 }
            #expect(.now - start >= .milliseconds(1) && count > 0)
            // The clock is read at the first message of each turn, and less and less often.
            #expect(turn.left == 0)
        }
    }

    @Test func aTaskThatReadsWithNewIteratorsHasOneTurn() async {
        let start = ContinuousClock.now
        var count = 0
        while true {
            var turn = ReaderTurn()
            count += 1
            if turn.endIfDue() { break }
        }
        #expect(.now - start >= .milliseconds(1) && count > 1)
        var turn = ReaderTurn()
        let ends = turn.endIfDue()
        #expect(!ends)
    }
}
