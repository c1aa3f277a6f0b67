import Channels
import ChannelsTesting
import Testing

/// Rule 6 with more priorities than stand in one run of the index: a listener finds its place among them,
/// whichever come and go.
struct ManyPrioritiesTests {
    @Test(arguments: ["rising", "falling", "mixed"])
    func listenersOfHundredsOfPrioritiesAreReachedFromTheHighestToTheLowest(order: String) {
        var generator = SeededGenerator(seed: 7)
        var priorities = Array(-300..<300)
        switch order {
        case "falling": priorities.reverse()
        case "mixed": priorities.shuffle(using: &generator)
        default: break
        }
        let channel = Channel<Void>()
        let heard = Recorder<Int>()
        let tokens = priorities.map { priority in
            channel.listen(priority: Priority(priority)) { heard.record(priority) }
        }
        channel.post()
        #expect(heard.all == (-300..<300).reversed())
        withExtendedLifetime(tokens) {}
    }

    /// After each round the order is that of a sorted list: by priority, then by registration.
    @Test(arguments: 0..<6)
    func theOrderHoldsWhileHundredsOfPrioritiesComeAndGo(seed: Int) {
        var generator = SeededGenerator(seed: seed)
        let channel = Channel<Void>()
        let heard = Recorder<Int>()
        var present: [(priority: Int, number: Int, token: ListenerToken)] = []
        var next = 0
        for round in 0..<12 {
            // Most leave in every third round, so that runs become empty and lanes are discarded.
            let leaving = round % 3 == 2 ? present.count * 9 / 10 : present.count / 5
            present.shuffle(using: &generator)
            for listener in present.suffix(leaving) { listener.token.cancel() }
            present.removeLast(leaving)
            for _ in 0..<150 {
                let priority = Int.random(in: -200...200, using: &generator)
                let number = next
                next += 1
                present.append(
                    (priority, number, channel.listen(priority: Priority(priority)) { heard.record(number) })
                )
            }
            #expect(channel.post() == present.count)
            let expected = present.sorted { ($1.priority, $0.number) < ($0.priority, $1.number) }.map(\.number)
            #expect(heard.takeAll() == expected, "round \(round)")
        }
        for listener in present { listener.token.cancel() }
        #expect(channel.post() == 0)
    }

    @Test func interceptorsOfHundredsOfPrioritiesAreReachedFromTheHighestToTheLowest() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        var tokens: [Int: ListenerToken] = [:]
        func add(_ priority: Int) {
            tokens[priority] = channel.intercept(priority: Priority(priority)) { _ in
                heard.record(priority)
                return .continue
            }
        }
        for index in 0..<200 { add(index * 37 % 200) }
        channel.post(0)
        #expect(heard.takeAll() == (0..<200).reversed())
        for priority in 20..<190 { tokens[priority]?.cancel() }
        for priority in stride(from: 20, to: 190, by: 7) { add(priority) }
        channel.post(0)
        #expect(heard.takeAll() == ([Int](0..<20) + stride(from: 20, to: 190, by: 7) + [Int](190..<200)).reversed())
        withExtendedLifetime(tokens) {}
    }

    /// An empty lane is kept for the next listener of its priority: it does not hold the channel, nor what
    /// listeners held.
    @Test func emptyLanesKeepNothingAlive() {
        let living = Tally()
        weak var gone: Channel<Witness>?
        do {
            let channel = Channel<Witness>()
            gone = channel
            for priority in 0..<100 {
                let witness = Witness(living)
                channel.listen(priority: Priority(priority)) { _ in withExtendedLifetime(witness) {} }.cancel()
                channel.intercept(priority: Priority(priority)) { _ in .continue }.cancel()
                #expect(living.value == 1)
            }
        }
        #expect(living.value == 0)
        #expect(gone == nil)
    }
}
