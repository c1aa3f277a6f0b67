import Channels
import Testing

struct PriorityTests {
    @Test func namedPrioritiesHaveTheirRanks() {
        #expect(Priority.low.rawValue == -100)
        #expect(Priority.normal.rawValue == 0)
        #expect(Priority.high.rawValue == 100)
        #expect(Priority.low < .normal && Priority.normal < .high)
        #expect([Priority.high, 3, .low, -7].sorted() == [.low, -7, 3, .high])
    }

    @Test func integersArePriorities() {
        let priority: Priority = 42
        #expect(priority.rawValue == 42)
        #expect(Priority(42) == priority)
        #expect(Priority(100) == .high)
        #expect("\(Priority.high) \(Priority.low) \(Priority.normal) \(priority)" == "high low normal 42")
    }

    @Test func listenersAreReachedByPriorityThenByRegistration() {
        let channel = Channel<Void>()
        let owner = FormListener()
        let rank = 7
        let priorities: [Priority] = [
            .low, .normal, .high, 50, -200, .init(rank), Priority(.max), Priority(.min), .high, .normal,
        ]
        for (index, priority) in priorities.enumerated() {
            channel.listen(owner, priority: priority) { me in me.hear("\(index)") }
        }
        #expect(channel.post() == priorities.count)
        #expect(owner.heard.all == ["6", "2", "8", "3", "5", "1", "9", "0", "4", "7"])
    }
}
