import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// Received items between a transport and the task that takes them.
@Suite(.hangLimit)
struct InboundQueueTests {
    @Test(arguments: Seed.first(50)) func itHoldsWhatWasAddedInOrderUpToItsLimits(seed: Seed) async {
        var generator = SeededGenerator(seed: seed.number)
        let budget = Budget(messages: 100, bytes: 10_000)
        let queue = InboundQueue<Int>(limit: 12, byteLimit: 1_000, budget: budget)
        var (model, dropped) = ([(number: Int, bytes: Int)](), 0)
        for number in 0..<400 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0...4:
                let bytes = 50 * Int.random(in: 0...22, using: &generator)
                let fits =
                    model.count < 12 && (model.isEmpty || model.reduce(0) { $0 + $1.bytes } + bytes <= 1_000)
                #expect(queue.add(number, bytes: bytes) == (fits ? .taken : .full))
                if fits { model.append((number, bytes)) } else { dropped += 1 }
            case 5...7:
                guard !model.isEmpty else { continue }
                let next = await queue.next()
                #expect(next?.item == model.removeFirst().number && next?.charge != nil && next?.dropped == dropped)
                dropped = 0
            case 8:
                // The bridge holds as much as it may.
                let rest = budget.charge(messages: 100 - budget.messages)
                #expect(queue.add(number, bytes: 0) == .full)
                dropped += 1
                withExtendedLifetime(rest) {}
            default:
                guard number % 7 == 0 else { continue }
                #expect(queue.empty() == model.map(\.number))
                model = []
            }
            #expect(queue.count == model.count && budget.messages == model.count)
            #expect(budget.bytes == model.reduce(0) { $0 + $1.bytes })
        }
        queue.close()
        #expect(queue.add(0, bytes: 0) == .closed && budget.messages == model.count)
        // What it has can still be taken.
        for item in model { #expect(await queue.next()?.item == item.number) }
        #expect(await queue.next()?.item == nil)
    }

    @Test func whoeverWaitsIsWokenByAnItemAndByTheEnd() async {
        let queue = InboundQueue<Int>(limit: 4, byteLimit: 100)
        let taking = Task {
            var taken: [Int] = []
            while let next = await queue.next() { taken.append(next.item) }
            return taken
        }
        for number in 0..<3 {
            #expect(queue.add(number, bytes: 1) == .taken)
            await wait(for: queue.count) { $0 <= 0 }
        }
        queue.close()
        #expect(await taking.value == [0, 1, 2])
        let other = InboundQueue<Int>(limit: 4, byteLimit: 100)
        let waiting = Task { await other.next()?.item }
        #expect(other.closeAndEmpty().isEmpty)
        #expect(await waiting.value == nil)
        let cancelled = InboundQueue<Int>(limit: 4, byteLimit: 100)
        let last = Task { await cancelled.next()?.item }
        last.cancel()
        #expect(await last.value == nil)
    }

    @Test func whoeverWaitsForATimeHasWhatComesInMeanwhile() async throws {
        let queue = InboundQueue<Int>(limit: 4, byteLimit: 100)
        let clock = ManualClock()
        let first = Task { try await withTimeLimit(.seconds(1), clock: clock) { await queue.next()?.item } }
        _ = await clock.sleeps.first(1)
        #expect(queue.add(7, bytes: 1) == .taken)
        #expect(try await first.value == 7)
        let second = Task { try await withTimeLimit(.seconds(1), clock: clock) { await queue.next()?.item } }
        _ = await clock.sleeps.first(2)
        clock.advance(by: .seconds(1))
        #expect(try await second.value == nil)
    }

    @Test func whatIsTakenOrDroppedIsReleasedThoughOthersWait() async {
        let queue = InboundQueue<Object>(limit: 10, byteLimit: 100)
        weak var first: Object?
        weak var last: Object?
        do {
            let objects = (0..<6).map { _ in Object() }
            (first, last) = (objects[0], objects[5])
            for object in objects { #expect(queue.add(object, bytes: 1) == .taken) }
        }
        _ = await queue.next()
        #expect(first == nil && last != nil)
        #expect(queue.closeAndEmpty().count == 5)
        #expect(last == nil && queue.count == 0)
    }

    private final class Object: Sendable {}
}
