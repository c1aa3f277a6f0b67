#if NATS
import TestSupport
import Testing

@testable import ChannelsNATS

/// A subscription that a server refuses, ends and permits again, with what is told late and out of place.
@Suite(.hangLimit)
struct RefusalStateTests {
    /// A client as `NATSSubscription` is one, and its server.
    private struct World {
        var random: SeededGenerator
        var state = RefusalState()
        /// At the server.
        var isPermitted = true, isSubscribed = true
        /// The refusals that the server has sent and the client has not been told of.
        var untold = 0
        /// The attempts whose time comes, and those whose outcome is awaited, though it may be told to another one.
        var scheduled: [RefusalState.Attempt] = []
        var awaited: [RefusalState.Attempt] = []
        var log: [String] = []

        var rests: Bool { untold + scheduled.count + awaited.count == 0 }

        init(seed: Int) { random = SeededGenerator(seed: seed) }

        mutating func subscribe() {
            isSubscribed = isPermitted
            if !isPermitted { untold += 1 }
        }

        mutating func schedule(_ attempt: RefusalState.Attempt?) { if let attempt { scheduled.append(attempt) } }

        mutating func toldRefusal() {
            guard untold > 0 else { return }
            untold -= 1
            log.append("a refusal is told")
            schedule(awaited.isEmpty ? state.refused() : state.end(awaited.removeFirst(), isRefused: true))
        }

        mutating func timePasses() {
            guard !awaited.isEmpty else { return }
            log.append("the outcome is taken for granted")
            schedule(state.end(awaited.removeFirst(), isRefused: false))
        }

        mutating func attempt() {
            guard let index = scheduled.indices.randomElement(using: &random) else { return }
            let attempt = scheduled.remove(at: index)
            guard state.begin(attempt) else { return }
            log.append("attempt after \(attempt.refusals) refusals")
            awaited.append(attempt)
            subscribe()
        }

        mutating func step() {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                isPermitted.toggle()
                log.append(isPermitted ? "permitted" : "denied")
                if !isPermitted, isSubscribed { subscribe() }
            case 1:
                log.append("another connection")
                state.restart()
                subscribe()
            case 2...4: toldRefusal()
            case 5...6: timePasses()
            default: attempt()
            }
        }
    }

    @Test func whatIsPermittedAgainIsSubscribedInTheEndWhateverWasToldWhen() {
        for seed in Seed.numbers(2_000) {
            var world = World(seed: seed)
            for _ in 0..<60 { world.step() }
            world.isPermitted = true
            world.log.append("permitted from now on")
            for _ in 0..<1_000 where !world.rests {
                world.toldRefusal()
                world.timePasses()
                world.attempt()
            }
            #expect(world.isSubscribed && world.rests, "seed \(seed):\n\(world.log.joined(separator: "\n"))")
        }
    }

    /// What is told of an attempt while it is made counts, also if the server seems to permit it.
    @Test func aRefusalDuringAnAttemptIsNotForgotten() throws {
        var state = RefusalState()
        let refused = state.refused()
        let first = try #require(refused)
        let (begins, another, again) = (state.begin(first), state.refused(), state.end(first, isRefused: false))
        #expect(begins && another == nil && again?.refusals == 2)
        let repeats = state.begin(first)
        #expect(!repeats)
    }
}
#endif
