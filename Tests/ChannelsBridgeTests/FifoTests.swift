import Testing

@testable import ChannelsBridge

@Suite(.hangLimit)
struct FifoTests {
    @Test(arguments: Seed.first(50))
    func itHoldsWhatAnArrayHolds(seed: Seed) {
        var generator = SeededGenerator(seed: seed.number)
        var (fifo, model) = (Fifo<Int>(), [Int]())
        for number in 0..<400 {
            let count = Int.random(in: 0...min(model.count, 5), using: &generator)
            switch Int.random(in: 0..<9, using: &generator) {
            case 0...3:
                fifo.append(number)
                model.append(number)
            case 4:
                let elements = (0..<count).map { -number * 10 - $0 }
                fifo.prepend(elements)
                model.insert(contentsOf: elements, at: 0)
            case 5:
                let limit = Int.random(in: -4_000..<400, using: &generator)
                fifo.insert(number) { $0 > limit }
                model.insert(number, at: model.firstIndex { $0 > limit } ?? model.endIndex)
            case 6:
                fifo.removeAll { $0 % 7 == count }
                model.removeAll { $0 % 7 == count }
            case 7:
                let taken = fifo.popFirst(count)
                #expect(taken == Array(model.prefix(count)))
                model.removeFirst(count)
            default:
                let first = fifo.popFirst()
                #expect(first == model.first)
                if !model.isEmpty { model.removeFirst() }
            }
            #expect(Array(fifo) == model && fifo.count == model.count)
            #expect(fifo.isEmpty == model.isEmpty && fifo.first == model.first)
        }
    }

    /// A message is given up when it is taken, also where others still wait.
    @Test func whatIsTakenIsReleasedAtOnce() {
        var fifo = Fifo<Object>()
        weak var first: Object?
        weak var second: Object?
        weak var last: Object?
        do {
            let objects = (0..<10).map { _ in Object() }
            (first, second, last) = (objects[0], objects[1], objects[9])
            for object in objects { fifo.append(object) }
        }
        _ = fifo.popFirst()
        #expect(first == nil && second != nil)
        _ = fifo.popFirst(2)
        #expect(second == nil && last != nil && fifo.count == 7)
    }

    @Test func whatWasTakenLeavesNoMorePlacesThanThereAreElements() {
        var fifo = Fifo<Int>()
        func places() -> Int? {
            Mirror(reflecting: fifo).children.first { $0.label == "elements" }.flatMap { ($0.value as? [Int?])?.count }
        }
        for number in 0..<1_000 {
            fifo.append(number)
            guard number % 3 > 0 else { continue }
            _ = number % 2 == 0 ? fifo.popFirst() : fifo.popFirst(1).first
            #expect(places().map { $0 <= 2 * fifo.count } == true)
        }
        while fifo.popFirst() != nil {}
        #expect(places() == 0)
    }

    private final class Object {}
}
