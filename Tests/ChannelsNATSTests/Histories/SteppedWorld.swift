#if NATS
import TestSupport

/// What worlds have in common in which one client and a model of its server are played on a clock that steps. What
/// happens is up to a seed.
class SteppedWorld {
    typealias Instant = ContinuousClock.Instant

    var random: SeededGenerator
    let start: Instant
    var now: Instant
    /// Whether nothing breaks or fails any more.
    var isCalm = false
    private(set) var problems: [String] = []
    private(set) var log: [String] = []

    init(seed: Int) {
        random = SeededGenerator(seed: seed)
        start = .now
        now = start
    }

    /// Plays the whole history.
    func play() { preconditionFailure("a world says what happens") }

    final func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    final func chance(_ count: Int) -> Bool { number(1...count) == 1 }

    final func note(_ line: String) { log.append("\(Int(start.duration(to: now) / .milliseconds(1))) \(line)") }

    final func check(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if condition { return }
        note("PROBLEM: " + problem())
        problems.append(problem())
    }
}
#endif
