import Testing

@testable import ChannelsBridge

/// What the routes of a bridge hold together.
@Suite(.hangLimit)
struct BudgetTests {
    private struct Held {
        let charge: Charge
        let messages: Int
        var bytes: Int
    }

    @Test(arguments: Seed.first(50)) func whatIsTakenIsGivenBackOnceAndNeverExceedsTheBudget(seed: Seed) {
        var generator = SeededGenerator(seed: seed.number)
        let budget = Budget(messages: 20, bytes: 1_000)
        var held: [Held] = []
        func fits(_ messages: Int, _ bytes: Int) -> Bool {
            let taken = (messages: held.reduce(0) { $0 + $1.messages }, bytes: held.reduce(0) { $0 + $1.bytes })
            return (messages == 0 || taken.messages == 0 || taken.messages + messages <= 20)
                && (bytes == 0 || taken.bytes == 0 || taken.bytes + bytes <= 1_000)
        }
        for _ in 0..<400 {
            let place = held.indices.randomElement(using: &generator)
            let isForced = Int.random(in: 0..<10, using: &generator) == 0
            let bytes = 100 * Int.random(in: 0...11, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0, 1:
                let messages = Int.random(in: 0...5, using: &generator)
                let mayTake = isForced || fits(messages, bytes)
                let charge = budget.charge(messages: messages, bytes: bytes, isForced: isForced)
                #expect((charge != nil) == mayTake)
                if let charge { held.append(Held(charge: charge, messages: messages, bytes: bytes)) }
            case 2, 3:
                guard let place, held[place].bytes == 0 else { continue }
                let mayTake = isForced || fits(0, bytes)
                let isTaken = held[place].charge.add(bytes: bytes, isForced: isForced)
                #expect(isTaken == mayTake)
                if isTaken { held[place].bytes = bytes }
            case 4:
                guard let place else { continue }
                held[place].charge.giveBackBytes()
                held[place].bytes = 0
            default:
                if let place { held.remove(at: place) }
            }
            #expect(budget.messages == held.reduce(0) { $0 + $1.messages })
            #expect(budget.bytes == held.reduce(0) { $0 + $1.bytes })
        }
        held = []
        #expect(budget.messages == 0 && budget.bytes == 0)
    }

    @Test func whatFillsABudgetFitsAndWhatExceedsItFitsAlone() {
        let budget = Budget(messages: 2, bytes: 10)
        var large = budget.charge(messages: 3, bytes: 11)
        #expect(budget.charge(messages: 1) == nil && budget.charge(bytes: 1) == nil)
        withExtendedLifetime(large) {}
        large = nil
        let (first, second) = (budget.charge(messages: 1, bytes: 4), budget.charge(messages: 1, bytes: 6))
        #expect(first != nil && second != nil && budget.messages == 2 && budget.bytes == 10)
        #expect(budget.charge(messages: 1) == nil && budget.charge(bytes: 1) == nil)
        #expect(budget.charge() != nil)
        withExtendedLifetime((first, second)) {}
    }
}
