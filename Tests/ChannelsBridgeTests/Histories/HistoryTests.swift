import TestSupport
import Testing

/// Whole histories of a broker and the processes that use it: ended, killed and started again, with connections that
/// break between any two calls, listeners that fail, hang and post, and letters that are put back. One thread plays a
/// history in no time.
///
/// `Scripts/verify histories` plays as many as one likes, and shows that planted faults are found.
struct HistoryTests {
    /// Plays a history. Returns what was not as it has to be, and its steps.
    private static func play(_ seed: Int) -> (problems: [String], log: [String]) {
        let executor = SeededExecutor(seed: seed)
        let history = History(seed: seed, executor)
        if !executor.run(patience: 60_000, { await history.play() }) { history.fail("a wake-up was lost") }
        return (history.problems, history.log)
    }

    @Test(arguments: 0..<2)
    func everyOrderOfEventsKeepsThePromises(part: Int) async {
        await onThreads(1) { _ in
            let filter = "--disable-xctest --filter HistoryTests"
            if let text = playHistories(100, part: part, filter: filter, Self.play) { Issue.record("\(text)") }
        }
    }

    /// Otherwise a seed that fails could not be looked into.
    @Test func aSeedIsAHistory() async {
        await onThreads(1) { _ in
            for seed in 0..<8 {
                let (first, second) = (Self.play(seed).log, Self.play(seed).log)
                #expect(first == second)
            }
        }
    }
}
