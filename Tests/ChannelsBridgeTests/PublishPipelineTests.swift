import Channels
import Testing

@testable import ChannelsBridge

/// The transitions of the durable messages of a route, without threads.
@Suite(.hangLimit)
struct PublishPipelineTests {
    private let budget = Budget(messages: .max, bytes: .max)

    private func departure(_ number: Int) throws -> Departure {
        Departure(UInt64(number), to: "n", charge: try #require(budget.charge(messages: 1)), InFlight())
    }

    private func pipeline(of count: Int, window: Int = 1_024) throws -> PublishPipeline {
        var pipeline = PublishPipeline(limit: 10_000, byteLimit: .max, window: window)
        pipeline.isReady = true
        for number in 0..<count { try take(number, into: &pipeline) }
        return pipeline
    }

    private func take(_ number: Int, into pipeline: inout PublishPipeline) throws {
        let isTaken = pipeline.take(try departure(number))
        #expect(isTaken)
    }

    /// Encodes until there is something to publish.
    private func published(_ pipeline: inout PublishPipeline) -> [Departure] {
        while true {
            switch pipeline.next() {
            case .encode(let departures): encode(departures[...], in: &pipeline)
            case .publish(let departures): return departures
            case .pause: pipeline.isPaused = false
            case .wait, .done: return []
            }
        }
    }

    private func encode(
        _ departures: ArraySlice<Departure>,
        rest: ArraySlice<Departure> = [],
        in pipeline: inout PublishPipeline
    ) {
        let refused = pipeline.encoded(Array(departures), rest: rest)
        #expect(refused.isEmpty)
    }

    private func end(
        _ departure: Departure,
        attempt: Int = 1,
        with end: PublishPipeline.End = .acknowledged,
        outcome: PublishPipeline.Outcome = .isOver,
        in pipeline: inout PublishPipeline
    ) {
        let found = pipeline.ended(departure, attempt: attempt, with: end)
        #expect(found == outcome)
    }

    private func numbers(_ departures: [Departure]) -> [UInt64] { departures.map(\.number) }

    /// The others are done with long before it.
    @Test func oneThatTakesLongKeepsNoOtherInMemory() throws {
        var pipeline = try pipeline(of: 1, window: 8)
        let slow = try #require(published(&pipeline).first)
        for number in 1...1_000 {
            try take(number, into: &pipeline)
            for departure in published(&pipeline) { end(departure, in: &pipeline) }
        }
        #expect(pipeline.count == 1)
        // The others are released: they have given back their places in the bridge.
        #expect(budget.messages < 100)
        let left = pipeline.abandon()
        #expect(left.count == 1 && left.released.isEmpty)
        end(slow, outcome: .wasKnown, in: &pipeline)
    }

    /// In the middle of a batch, too.
    @Test func whatIsGivenUpIsCountedOnce() throws {
        var pipeline = try pipeline(of: 130)
        let first = published(&pipeline)
        end(first[0], in: &pipeline)
        end(first[5], with: .failed, outcome: .isToBeRepeated, in: &pipeline)
        guard case .encode(let encoding) = pipeline.next() else { Issue.record("nothing is encoded"); return }
        let given = pipeline.abandon()
        let refused = pipeline.encoded(encoding, rest: [])
        pipeline.putBack(first[10...])
        #expect(given.count == 129 && refused.isEmpty && pipeline.count == 0)
        // Those that are encoded or under way are not in its hands.
        let known = numbers(given.released + encoding + [first[0]] + first[1...4] + first[6...])
        #expect(known.sorted() == Array(0..<130))
        for departure in first { end(departure, outcome: .wasKnown, in: &pipeline) }
        let again = pipeline.abandon()
        #expect(again.count == 0 && again.released.isEmpty)
        guard case .done = pipeline.next() else { Issue.record("it goes on"); return }
    }

    @Test func whatWasPutBackAndPublishedAgainIsGivenUpOnce() throws {
        var pipeline = try pipeline(of: 3)
        let first = published(&pipeline)
        end(first[0], with: .failed, outcome: .isToBeRepeated, in: &pipeline)
        pipeline.putBack(first[1...])
        let second = published(&pipeline)
        #expect(numbers(second) == [0, 1, 2] && pipeline.count == 3)
        let given = pipeline.abandon()
        #expect(given.count == 3 && given.released.isEmpty && pipeline.count == 0)
    }

    /// The next pause is as short as the first again.
    @Test func whatIsAcknowledgedEndsTheFailuresInARow() throws {
        var pipeline = try pipeline(of: 1)
        var pauses: [Int] = []
        for attempt in 1...5 {
            guard let departure = published(&pipeline).first else { Issue.record("nothing is published"); return }
            if attempt == 3 {
                end(departure, attempt: departure.attempts, in: &pipeline)
                try take(attempt, into: &pipeline)
                continue
            }
            end(departure, attempt: departure.attempts, with: .failed, outcome: .isToBeRepeated, in: &pipeline)
            guard case .pause(let attempts) = pipeline.next() else { Issue.record("it does not wait"); return }
            pauses.append(attempts)
            pipeline.isPaused = false
        }
        #expect(pauses == [1, 2, 1, 2])
    }

    @Test(arguments: Seed.first(100)) func itDoesWhatPlainArraysDo(seed: Seed) throws {
        var run = PipelineRun(seed: seed.number)
        for step in 0..<600 {
            if step == 40 { run.open() }
            if step == 560 { run.close() }
            try run.step()
        }
        run.drain()
    }
}
