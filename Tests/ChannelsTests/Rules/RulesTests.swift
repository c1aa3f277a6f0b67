import Channels
import ChannelsTesting
import Foundation
import Testing

/// The library does what a model of the rules does, whatever listeners do.
///
/// `Scripts/verify rules N` tries so many seeds.
struct RulesTests {
    private static let parts = 4
    private static let seeds = ProcessInfo.processInfo.environment["CHANNELS_RULES"].flatMap { Int($0) } ?? 2_000

    @Test(arguments: 0..<parts) func listenersHearWhatTheRulesSay(part: Int) async {
        await onThreads(1) { _ in
            for seed in Seed.numbers(Self.seeds) where seed % Self.parts == part {
                guard let difference = differenceFromTheRules(seed: seed) else { continue }
                let command = "CHANNELS_SEED=\(seed) swift test --disable-xctest --filter RulesTests"
                Issue.record("seed \(seed): \(difference). Repeat: \(command)")
                return
            }
        }
    }
}

/// Performs the steps of a seed with the model and with the library. Returns the first difference.
private func differenceFromTheRules(seed: Int) -> String? {
    var generator = RulesGenerator(seed: seed)
    let setting = generator.setting()
    // One that stays, so that there is always somebody to post to.
    let first = Script(
        number: 0,
        owner: nil,
        priority: -9,
        isOnce: false,
        isPattern: false,
        fails: false,
        adaptations: [],
        calls: []
    )
    let steps = [.add(first)] + generator.listeners(3...6) + generator.steps(3...9, depth: 2)
    let (model, library) = (RulesModel(setting), RulesWorld(setting))
    let expected = trace(steps, model.perform, { model.called = $0 }) { numbers in
        let active = numbers.filter { model.isActive($0) }
        return "\(model.count) listeners, active \(active), missed \(numbers.map { model.missed($0) })"
            + ", \(model.refusedPosts) refused, \(model.failures) failed"
    }
    let seen = trace(steps, library.perform, { library.called = $0 }) { library.state(of: $0) }
    library.end()
    model.called = { _, _ in }
    guard let place = (0..<max(expected.count, seen.count)).first(where: { expected[safe: $0] != seen[safe: $0] })
    else { return nil }
    let said = (expected[safe: place] ?? "nothing", seen[safe: place] ?? "nothing")
    return "expected \(said.0), seen \(said.1), after \(expected.prefix(place).joined(separator: "; ")) in \(setting)"
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { index < count ? self[index] : nil }
}

/// Performs steps, and those of the listeners called. Returns what happened, in its order.
private func trace(
    _ steps: [Step],
    _ perform: @escaping (Step) -> Int,
    _ whenCalled: (@escaping (Int, Int) -> Void) -> Void,
    _ state: (_ numbers: [Int]) -> String
) -> [String] {
    var lines: [String] = []
    var scripts: [Int: Script] = [:]
    var calls: [Int: Int] = [:]
    func run(_ step: Step) {
        var line = ""
        switch step {
        case .add(let script):
            // The first use of a number is the only one.
            scripts[script.number] = script
            line = "add \(script.number)"
        // Before it is registered, there is nothing to change; the one that stays is left alone.
        case .cancel(let number), .pause(let number), .resume(let number):
            guard number != 0, scripts[number] != nil else { return }
            line = "\(step)"
        default: line = "\(step)"
        }
        lines.append(line)
        let result = perform(step)
        if case .post = step { lines.append("reached \(result)") }
    }
    whenCalled { number, value in
        lines.append("\(number) hears \(value)")
        let call = calls[number, default: 0]
        calls[number] = call + 1
        for step in scripts[number]?.calls[safe: call] ?? [] { run(step) }
    }
    for step in steps {
        run(step)
        lines.append(state(scripts.keys.sorted()))
    }
    return lines
}
