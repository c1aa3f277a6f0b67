#if NATS
import TestSupport
import Testing

/// Whole histories of a durable consumer and the process that fetches from it. They need no server.
struct PullHistoryTests {
    @Test(arguments: 0..<2)
    func everyOrderOfRepliesKeepsMessagesComing(part: Int) async {
        await onThreads(1) { _ in
            let text = playHistories(300, part: part, filter: "--disable-xctest --filter PullHistoryTests") { seed in
                let world = PullWorld(seed: seed)
                world.play()
                return (world.problems, world.log)
            }
            if let text { Issue.record("\(text)") }
        }
    }
}
#endif
