import Testing

@testable import ChannelsBridge

/// A pipeline and a model of it, made of plain arrays, to which the same happens in an order that a seed chooses.
struct PipelineRun {
    private enum Step: Equatable {
        case encode([UInt64])
        case publish([UInt64])
        case pause(Int)
        case wait
        case done
    }

    private struct Model {
        var unencoded: [Departure] = []
        var encoding: [Departure] = []
        var waiting: [Departure] = []
        var underWay: [Departure] = []
        var failed: [Departure] = []
        var bytes = 0
        var reserved = 0
        var failuresInARow = 0
        var isReady = false
        var isPaused = false
        var isClosed = false

        var count: Int { unencoded.count + encoding.count + waiting.count + underWay.count + failed.count }
        var hasRoom: Bool { !isClosed && count + reserved < PipelineRun.limit && bytes < PipelineRun.byteLimit }
        var mayReserve: Bool { hasRoom && unencoded.count + encoding.count + reserved < 64 }

        mutating func next() -> Step {
            if isReady, !isPaused, !failed.isEmpty, underWay.isEmpty {
                waiting = failed.sorted { $0.number < $1.number } + waiting
                failed = []
                isPaused = true
                return .pause(failuresInARow)
            }
            let mayPublish = isReady && !isPaused && failed.isEmpty && underWay.count < PipelineRun.window
            if encoding.isEmpty, !unencoded.isEmpty, waiting.isEmpty || !mayPublish {
                encoding = Array(unencoded.prefix(64))
                unencoded.removeFirst(encoding.count)
                return .encode(encoding.map(\.number))
            }
            guard mayPublish, !waiting.isEmpty else { return isClosed && count + reserved == 0 ? .done : .wait }
            let departures = Array(waiting.prefix(PipelineRun.window - underWay.count))
            waiting.removeFirst(departures.count)
            underWay += departures
            return .publish(departures.map(\.number))
        }
    }

    private static let limit = 150
    private static let byteLimit = 2_000
    private static let window = 20

    private var generator: SeededGenerator
    private let budget = Budget(messages: .max, bytes: .max)
    private var pipeline = PublishPipeline(limit: limit, byteLimit: byteLimit, window: window)
    private var model = Model()
    private var lastNumber: UInt64 = 0
    private var attempts: [UInt64: Int] = [:]
    /// What the publishing task has in hand.
    private var publishing: ArraySlice<Departure> = []

    init(seed: Int) { generator = SeededGenerator(seed: seed) }

    mutating func open() {
        pipeline.isReady = true
        model.isReady = true
    }

    mutating func close() {
        pipeline.close()
        model.isClosed = true
    }

    mutating func step() throws {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0...7: try post(isReserved: false)
        case 8:
            guard pipeline.mayReserve else { break }
            pipeline.reserve()
            model.reserved += 1
        case 9: if model.reserved > 0 { try post(isReserved: true) }
        case 10:
            guard model.reserved > 0 else { break }
            pipeline.giveBackPlaces(1)
            model.reserved -= 1
        case 11: resume()
        case 12...15: next()
        default: end()
        }
        compare()
    }

    /// Everything that is left is acknowledged.
    mutating func drain() {
        while model.reserved > 0 {
            pipeline.giveBackPlaces(1)
            model.reserved -= 1
        }
        for _ in 0..<10_000 where model.count > 0 {
            resume()
            next()
            end(with: .acknowledged)
            compare()
        }
        guard case .done = pipeline.next() else { Issue.record("it is not done"); return }
    }

    private func compare() {
        #expect(pipeline.count == model.count)
        #expect(pipeline.hasRoom == model.hasRoom && pipeline.mayReserve == model.mayReserve)
        let isWorthALook =
            model.underWay.count <= Self.window * 3 / 4 || !model.failed.isEmpty
            || model.waiting.isEmpty && model.unencoded.isEmpty
        #expect(pipeline.isWorthALook == isWorthALook)
    }

    private mutating func post(isReserved: Bool) throws {
        lastNumber += 1
        let charge = try #require(budget.charge(messages: 1))
        let departure = Departure(lastNumber, to: "n", charge: charge, isReserved: isReserved, InFlight())
        departure.bytes = 10 * Int.random(in: 1...9, using: &generator)
        if lastNumber % 50 == 0 { departure.bytes *= 30 }
        if isReserved { model.reserved -= 1 }
        let fits = isReserved || model.hasRoom
        let isTaken = pipeline.take(departure)
        #expect(isTaken == fits)
        if fits { model.unencoded.append(departure) }
    }

    private mutating func resume() {
        pipeline.isPaused = false
        model.isPaused = false
    }

    /// What the publishing task does: it never has two things in hand.
    private mutating func next() {
        if !publishing.isEmpty { return putBack(publishing.count / 2) }
        let expected = model.next()
        switch pipeline.next() {
        case .encode(let departures):
            #expect(.encode(departures.map(\.number)) == expected)
            encode(departures)
        case .publish(let departures):
            #expect(.publish(departures.map(\.number)) == expected)
            publishing = departures[...]
            for departure in departures {
                attempts[departure.number, default: 0] += 1
                #expect(departure.attempts == attempts[departure.number] && departure.isUnderWay)
            }
        case .pause(let attempts): #expect(.pause(attempts) == expected)
        case .wait: #expect(expected == .wait)
        case .done: #expect(expected == .done)
        }
    }

    /// Some are not encoded yet, one cannot be, and some have no room.
    private mutating func encode(_ departures: [Departure]) {
        let count = Int.random(in: 1...departures.count, using: &generator)
        let isUnencodable = Int.random(in: 0..<8, using: &generator) == 0
        let encoded = Array(departures[..<count].dropFirst(isUnencodable ? 1 : 0))
        model.encoding = []
        model.unencoded = Array(departures[count...]) + model.unencoded
        var expected: [UInt64] = []
        for departure in encoded {
            let fits = departure.isReserved || model.bytes == 0 || model.bytes + departure.bytes <= Self.byteLimit
            guard fits else {
                expected.append(departure.number)
                continue
            }
            model.bytes += departure.bytes
            model.waiting.append(departure)
        }
        let refused = pipeline.encoded(encoded, rest: departures[count...])
        #expect(refused.map(\.number) == expected)
    }

    /// An earlier one has failed: the last ones are not published.
    private mutating func putBack(_ kept: Int) {
        let rest = publishing.dropFirst(kept)
        publishing = []
        // Only if none of them has ended: the transport does not have them.
        guard rest.allSatisfy(\.isUnderWay), !model.failed.isEmpty, !rest.isEmpty else { return }
        pipeline.putBack(rest)
        let numbers = rest.map(\.number)
        model.underWay.removeAll { numbers.contains($0.number) }
        model.waiting = Array(rest) + model.waiting
        for departure in rest {
            attempts[departure.number, default: 0] -= 1
            #expect(departure.attempts == attempts[departure.number] && !departure.isUnderWay)
        }
    }

    private mutating func end(with given: PublishPipeline.End? = nil) {
        // Half of those that the publishing task has in hand have not reached the transport.
        let unpublished = publishing.dropFirst(publishing.count / 2).map(\.number)
        let candidates = model.underWay.indices.filter { !unpublished.contains(model.underWay[$0].number) }
        guard let index = candidates.randomElement(using: &generator) else { return }
        let departure = model.underWay.remove(at: index)
        let choice = Int.random(in: 0..<10, using: &generator)
        let end = given ?? (choice < 6 ? .acknowledged : choice < 9 ? .failed : .refused)
        let attempt = departure.attempts
        let earlier = pipeline.ended(departure, attempt: attempt - 1, with: .acknowledged)
        let outcome = pipeline.ended(departure, attempt: attempt, with: end)
        let again = pipeline.ended(departure, attempt: attempt, with: .acknowledged)
        #expect(earlier == .wasKnown && again == .wasKnown)
        #expect(outcome == (end == .failed ? .isToBeRepeated : .isOver))
        if end == .failed {
            if model.failed.isEmpty { model.failuresInARow += 1 }
            model.failed.append(departure)
        } else {
            model.failuresInARow = 0
            model.bytes -= departure.bytes
        }
    }
}

extension Departure {
    /// The message of these tests.
    var number: UInt64 { message as? UInt64 ?? .max }
}
