import TestSupport

/// What a test of the rules does, from outside or in a listener.
indirect enum Step: Sendable {
    case post(Int, from: Int?, echo: Bool)
    case add(Script)
    case cancel(Int)
    case pause(Int)
    case resume(Int)
    case removeListeners(of: Int)
    case release(owner: Int)
}

enum Adaptation: Sendable {
    case filter(Int)
    case map(Int)
    case compactMap(Int)
    case prefix(Int)
    case prefixWhile(Int)
}

/// A listener, and what it does in its first calls.
struct Script: Sendable {
    var number: Int
    var owner: Int?
    var priority: Int
    var isOnce: Bool
    /// Listens to every name.
    var isPattern: Bool
    var fails: Bool
    var adaptations: [Adaptation]
    var calls: [[Step]]
}

/// What is true of a channel of one seed.
struct Setting: Sendable {
    var isQueued: Bool
    var limit: Int
    var isCounted: Bool
}

/// Makes the steps of a seed: any listeners, each with any adaptors, which do anything when they are called.
struct RulesGenerator {
    static let owners = 4
    /// An owner that stays; patterns have no other, because nobody asks a channel to look for those that are gone.
    static let keptOwner = 0
    private var random: SeededGenerator
    private var lastNumber = 0

    init(seed: Int) { random = SeededGenerator(seed: seed) }

    mutating func setting() -> Setting { Setting(isQueued: chance(3), limit: number(2...4), isCounted: chance(4)) }

    /// Listeners that are there from the start.
    mutating func listeners(_ count: ClosedRange<Int>) -> [Step] { (0..<number(count)).map { _ in .add(script(1)) } }

    mutating func steps(_ count: ClosedRange<Int>, depth: Int) -> [Step] {
        (0..<number(count)).map { _ in step(depth) }
    }

    private mutating func step(_ depth: Int) -> Step {
        switch number(0...9) {
        case 0...3: .post(number(0...9), from: chance(2) ? number(0...Self.owners - 1) : nil, echo: chance(2))
        case 4...5 where depth > 0: .add(script(depth - 1))
        case 6: .pause(number(1...max(lastNumber, 1)))
        case 7: chance(3) ? .removeListeners(of: number(0...Self.owners - 1)) : .resume(number(1...max(lastNumber, 1)))
        case 8: chance(3) ? .release(owner: number(1...Self.owners - 1)) : .resume(number(1...max(lastNumber, 1)))
        default: .cancel(number(1...max(lastNumber, 1)))
        }
    }

    private mutating func script(_ depth: Int) -> Script {
        lastNumber += 1
        let (own, isPattern) = (lastNumber, chance(4))
        let owner = isPattern ? Self.keptOwner : number(0...Self.owners - 1)
        let adaptations = chance(2) ? [] : (0..<number(1...3)).map { _ in adaptation() }
        return Script(
            number: own,
            owner: chance(2) ? owner : nil,
            priority: [-1, 0, 0, 0, 1][number(0...4)],
            isOnce: chance(4),
            isPattern: isPattern,
            fails: chance(6),
            adaptations: adaptations,
            calls: (0..<number(0...2)).map { _ in steps(0...2, depth: depth) }
        )
    }

    private mutating func adaptation() -> Adaptation {
        switch number(0...4) {
        case 0: .filter(number(2...3))
        case 1: .map(number(1...3))
        case 2: .compactMap(number(2...3))
        case 3: .prefix(number(1...3))
        default: .prefixWhile(number(1...9))
        }
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func chance(_ count: Int) -> Bool { number(1...count) == 1 }
}
