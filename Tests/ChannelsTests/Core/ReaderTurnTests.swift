import Testing

@testable import Channels

struct ReaderTurnTests {
    @Test func aTurnEndsAfterAMillisecondAndTheNextBeginsAnew() {
        var turn = ReaderTurn()
        for _ in 0..<3 {
            let start = ContinuousClock.now
            var count = 0
            while !turn.ends() { count += 1 }
            #expect(.now - start >= .milliseconds(1) && count > 0)
            // The clock is read at the second message of each turn, and less and less often.
            #expect(turn.left == 1)
        }
    }
}
