#if NATS
import TestSupport
import Testing

/// Whole histories of a client and a model of its server. They need no server.
struct ClientHistoryTests {
    @Test(arguments: 0..<2) func everyOrderOfRepliesKeepsMessagesComing(part: Int) async {
        await play(part) { PullWorld(seed: $0) }
    }

    @Test(arguments: 0..<2) func everyOrderOfMessagesEndsWithTheLastValues(part: Int) async {
        await play(part) { WatchWorld(seed: $0) }
    }

    private func play(_ part: Int, _ make: @escaping @Sendable (Int) -> SteppedWorld) async {
        await onThreads(1) { _ in
            let text = playHistories(300, part: part, filter: "--disable-xctest --filter ClientHistoryTests") { seed in
                let world = make(seed)
                world.play()
                return (world.problems, world.log)
            }
            if let text { Issue.record("\(text)") }
        }
    }
}
#endif
