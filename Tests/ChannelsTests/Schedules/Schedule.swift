import Foundation
import Testing

/// What a scenario uses: chance that depends on the seed, and checks that end it.
///
/// Unchecked: used by the one thread that runs the scenario.
final class Schedule: @unchecked Sendable {
    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    /// How many witnesses live: none when the scenario is over, or something leaks.
    let living = Tally()
    private var random: SeededGenerator
    private var broken: [String] = []
    /// Calls that run now, by listener.
    private var running: [Int: Int] = [:]

    private let executor: SeededExecutor

    fileprivate init(seed: Int, _ executor: SeededExecutor) {
        self.executor = executor
        random = SeededGenerator(seed: seed ^ 0x5EED)
    }

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func chance(_ count: Int) -> Bool { number(1...count) == 1 }

    /// Lets others have a turn, or several, or none.
    func turns(upTo count: Int = 3) async { for _ in 0..<number(0...count) { await turn() } }

    /// Lets others have a turn.
    func turn() async { await executor.turn() }

    func check(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { broken.append(text()) }
    }

    /// A call of a listener, with turns in between; another of the same listener meanwhile is a fault.
    func call(_ listener: Int = 0, _ body: () -> Void = {}) async {
        running[listener, default: 0] += 1
        check(running[listener] == 1, "two calls of listener \(listener) overlap")
        body()
        await turns()
        running[listener, default: 0] -= 1
    }

    /// Whether a call of the listener runs.
    func isRunning(_ listener: Int = 0) -> Bool { running[listener, default: 0] > 0 }

    /// Cancels a task at some point, or leaves it alone.
    func cancel(_ task: Task<some Sendable, some Error>, oneTimeIn count: Int = 1, within turns: Int = 12) async {
        guard chance(count) else { return }
        await self.turns(upTo: turns)
        task.cancel()
    }

    fileprivate var problem: String? { broken.isEmpty ? nil : broken.joined(separator: "; ") }
}

/// Runs a scenario with many seeds and records the first that fails, with the command that repeats it.
///
/// `CHANNELS_SEEDS` says how many (500 where it is not set), `CHANNELS_SEED` that it is to be this one
/// only.
func onSchedules(
    _ test: String = #function,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ scenario: @escaping @Sendable (Schedule) async -> Void
) async {
    let count = ProcessInfo.processInfo.environment["CHANNELS_SEEDS"].flatMap { Int($0) } ?? 500
    let failure = Slot<(seed: Int, text: String)>()
    await onThreads(1) { _ in
        for seed in Seed.numbers(count) {
            guard let problem = problem(of: scenario, seed: seed) else { continue }
            failure.value = (seed, problem)
            return
        }
    }
    if let failure = failure.value {
        let name = test.prefix { $0 != "(" }
        let command = "CHANNELS_SEED=\(failure.seed) swift test --disable-xctest --filter \(name)"
        Issue.record("seed \(failure.seed): \(failure.text). Repeat: \(command)", sourceLocation: sourceLocation)
    }
}

/// Runs a scenario once, to its end. Returns what went wrong.
///
/// - Parameter patience: How many milliseconds other threads may keep it waiting, which seldom do and soon end.
func problem(
    of scenario: @escaping @Sendable (Schedule) async -> Void,
    seed: Int,
    patience: Int = 30_000
) -> String? {
    let executor = SeededExecutor(seed: seed)
    let schedule = Schedule(seed: seed, executor)
    guard executor.run(patience: patience, { await scenario(schedule) }) else {
        return "nothing is left to run, but the scenario has not ended: a wake-up was lost"
    }
    let limit = ContinuousClock.now + .milliseconds(patience)
    // Another thread may hold one for a moment, too.
    while schedule.living.value != 0, .now < limit { sched_yield() }
    if schedule.living.value != 0 {
        return "\(schedule.living.value) objects leaked\(schedule.problem.map { "; \($0)" } ?? "")"
    }
    return schedule.problem
}
