import Channels
import Foundation

/// What the command line asks for.
struct Plan: Sendable {
    var deliveries: Int?
    var seconds: Double?
    var seed = Int.random(in: 0..<1_000_000_000)
    /// What one poster posts in a crowd; in the smaller experiments a part of it.
    var messagesEach = 100_000
    var watchdogSeconds = 300
    var isVerbose = false

    static let usage = """
        usage: soak [DELIVERIES | SECONDSs] [--seed N] [--messages N] [--plant lost|twice|reorder] [--verbose]

          DELIVERIES   how many deliveries to check at least, such as 1e9 (default: 1e7)
          SECONDSs     for how long to go on, such as 60s
          --seed       fixes what is registered, posted and disturbed when; not how threads interleave
          --messages   how many messages each poster posts in a crowd (default: 100000)
          --plant      disturbs what one listener hears, to show that the check sees it; must end with status 1
          --verbose    says how long each experiment took
        """

    init(_ arguments: [String]) throws(Misuse) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--seed": seed = try Self.number(after: argument, &rest)
            case "--messages": messagesEach = try Self.number(after: argument, &rest)
            case "--help", "-h":
                print(Self.usage)
                exit(0)
            case "--verbose": isVerbose = true
            case "--plant":
                guard let plant = rest.popFirst().flatMap(Plant.init) else {
                    throw Misuse("--plant is one of \(Plant.allCases.map(\.rawValue))")
                }
                Sabotage.plant = plant
            default:
                if argument.hasSuffix("s"), let time = Double(argument.dropLast()), time > 0 {
                    seconds = time
                } else if let count = Double(argument), (1...1e15).contains(count) {
                    deliveries = Int(count)
                } else {
                    throw Misuse("'\(argument)' is not understood")
                }
            }
        }
        guard messagesEach >= 1_000 else { throw Misuse("--messages must be at least 1000") }
        if seconds == nil, deliveries == nil { deliveries = 10_000_000 }
    }

    private static func number(after option: String, _ rest: inout ArraySlice<String>) throws(Misuse) -> Int {
        guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else {
            throw Misuse("\(option) needs a number")
        }
        return number
    }
}

struct Misuse: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

@main
struct Soak {
    static func main() async {
        let plan: Plan
        do throws(Misuse) {
            plan = try Plan(Array(CommandLine.arguments.dropFirst()))
        } catch {
            standardError("soak: \(error.text)\n\(Plan.usage)")
            exit(64)
        }
        let figures = Figures()
        var round = 0
        do {
            let started = ContinuousClock.now
            let watchdog = Watchdog(seconds: plan.watchdogSeconds, isVerbose: plan.isVerbose)
            repeat {
                round += 1
                try await run(round, plan, figures, watchdog)
            } while !isEnough(plan, figures, ContinuousClock.now - started)
            report(plan, figures, rounds: round, ContinuousClock.now - started)
        } catch {
            standardError(
                "FAILED: \(error)\nin round \(round), after \(figures.deliveries) deliveries, with seed \(plan.seed)"
            )
            exit(1)
        }
    }

    private static func isEnough(_ plan: Plan, _ figures: Figures, _ passed: Duration) -> Bool {
        if let deliveries = plan.deliveries { return figures.deliveries >= deliveries }
        return passed >= .seconds(plan.seconds ?? 0)
    }

    /// One round: every experiment once, arranged by the seed and the number of the round.
    private static func run(_ round: Int, _ plan: Plan, _ figures: Figures, _ watchdog: Watchdog) async throws {
        var random = SeededGenerator(seed: plan.seed &+ round &* 1_000_003)
        watchdog.begins("the crowd of round \(round) (seed \(plan.seed))")
        try await Crowd(plan, &random).run(figures, &random)
        for kind in Kind.allCases {
            for disturbance in Solo.Disturbance.allCases where disturbance != .ownerGoes || kind.isOwned {
                watchdog.begins(
                    "\(kind.rawValue) listener, \(disturbance.rawValue), round \(round) (seed \(plan.seed))"
                )
                try await Solo(kind: kind, disturbance: disturbance, messagesEach: plan.messagesEach / 100).run(
                    figures,
                    &random
                )
            }
        }
        watchdog.begins("the lanes of round \(round) (seed \(plan.seed))")
        let lanes = Lanes(messagesEach: plan.messagesEach / 2)
        try await lanes.run(figures, &random)
        watchdog.begins("the sequences of round \(round) (seed \(plan.seed))")
        try await Sequences(messagesEach: plan.messagesEach / 20).run(figures, &random)
        watchdog.begins("the states of round \(round) (seed \(plan.seed))")
        // Two threads that set without a pause, and eight.
        for posters in [2, 8] {
            let states = States(messagesEach: plan.messagesEach / 10 / posters, posters: posters)
            try await states.run(figures, &random)
        }
        watchdog.begins("the requests of round \(round) (seed \(plan.seed))")
        try await Requests(messagesEach: plan.messagesEach / 20).run(figures, &random)
        watchdog.begins("the switchboard of round \(round) (seed \(plan.seed))")
        try await Boards(messagesEach: plan.messagesEach / 20).run(figures, &random)
    }

    private static func report(_ plan: Plan, _ figures: Figures, rounds: Int, _ passed: Duration) {
        let seconds = Double(passed.components.seconds) + Double(passed.components.attoseconds) / 1e18
        print(figures.table)
        print(
            """

            \(figures.deliveries) deliveries of \(figures.posts.value) posts in \(rounds) rounds, \(String(format: "%.1f", seconds)) s; seed \(plan.seed)
            0 lost, 0 twice, 0 out of order, 0 overlapping; every listener accounts for what was accepted for it; \(figures.faults.value) drops reported as faults
            """
        )
    }
}
