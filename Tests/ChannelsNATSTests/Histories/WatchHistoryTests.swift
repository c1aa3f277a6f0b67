#if NATS
import TestSupport
import Testing

/// Whole histories of a bucket and the process that watches it. They need no server.
struct WatchHistoryTests {
    @Test(arguments: 0..<2)
    func everyOrderOfMessagesEndsWithTheLastValues(part: Int) async {
        await onThreads(1) { _ in
            let text = playHistories(300, part: part, filter: "--disable-xctest --filter WatchHistoryTests") { seed in
                let world = WatchWorld(seed: seed)
                world.play()
                return (world.problems, world.log)
            }
            if let text { Issue.record("\(text)") }
        }
    }
}
#endif
