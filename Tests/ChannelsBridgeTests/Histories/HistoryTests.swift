import Foundation
import TestSupport
import Testing

/// Whole histories of a broker and the processes that use it: ended, killed and started again, with connections that
/// break between any two calls, listeners that fail, hang and post, and letters that are put back. One thread plays a
/// history in no time.
///
/// `CHANNELS_HISTORIES` says how many, and `CHANNELS_FIRST_HISTORY` the first; `Scripts/verify histories` plays as many
/// as one likes, and shows that planted faults are found.
struct HistoryTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static var seeds: Range<Int> {
        let first = number("CHANNELS_FIRST_HISTORY") ?? 0
        let seeds = first..<first + (number("CHANNELS_HISTORIES") ?? 100)
        return number("CHANNELS_SEED").map { $0..<$0 + 1 } ?? seeds
    }

    /// So many parts run at once.
    static let parts = 2

    /// Plays a history. Returns what was not as it has to be, and its steps.
    private static func play(_ seed: Int) -> (problems: [String], log: [String]) {
        let executor = SeededExecutor(seed: seed)
        let history = History(seed: seed, executor)
        if !executor.run(patience: 60_000, { await history.play() }) { history.fail("a wake-up was lost") }
        return (history.problems, history.log)
    }

    @Test(arguments: 0..<parts)
    func everyOrderOfEventsKeepsThePromises(part: Int) async {
        let failure = Failure()
        await onThreads(1) { _ in
            for seed in Self.seeds where seed % Self.parts == part && failure.text == nil {
                let (problems, log) = Self.play(seed)
                guard !problems.isEmpty else { continue }
                let again = "CHANNELS_SEED=\(seed) swift test --disable-xctest --filter HistoryTests"
                let lines = problems.prefix(3) + log.suffix(400)
                failure.text = "history \(seed), again with \(again)\n\(lines.joined(separator: "\n"))"
            }
        }
        if let text = failure.text { Issue.record("\(text)") }
    }

    private final class Failure: @unchecked Sendable {  // used by one thread, then read by the test
        var text: String?
    }
}
