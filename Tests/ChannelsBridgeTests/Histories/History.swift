import Channels
import ChannelsBridge
import TestSupport

/// One broker and the processes that use it, played by one thread with a clock of its own: what happens next, and to
/// whom, is up to a seed.
///
/// After each stretch everything that was broken is mended, and the processes run until nothing is left to be done.
/// Then what they have heard is compared with what the guide promises (``compare()``).
final class History: @unchecked Sendable {  // used by one thread
    static let bodyLimit = 300

    let broker: InMemoryBroker
    let clock = ManualClock()
    private let executor: SeededExecutor
    var random: SeededGenerator
    /// Whether connections cannot be made.
    var isUnreachable = false
    /// Whether listeners succeed at once: before a comparison.
    var isCalm = false
    /// Whether messages that always fail succeed from now on.
    var isMended = false
    private(set) var plan: Plan

    /// The processes, by place; those that have ended or were killed are replaced.
    var processes: [Process] = []
    /// Everyone who ever was.
    var former: [Process] = []
    let office: Office
    var forwarder: Forwarder?
    /// How many tasks wait for a post, a question or a tool.
    var pending = 0

    /// What is known of a message.
    struct Message {
        let poster: Int
        /// Its place among what its poster has posted.
        var number = 0
        var isStored = false
        /// The identity and the time that listeners see.
        var id: String?
        var seconds: Double?
        /// Whether a letter of it was dropped.
        var isDropped = false
    }

    /// What is known of a message and one durable name.
    struct Fate {
        var heard = 0
        var completed = 0
        /// Whether the broker knows that it is settled.
        var isSettled = false
        /// Whether a delivery was cut off, or its settlement was lost.
        var isDisturbed = false
        /// How many letters of it the broker has stored.
        var letters = 0
    }

    var messages: [String: Message] = [:]
    /// The subject of each message that the broker has stored.
    var subjects: [String: String] = [:]
    /// Whether letters are being put back or dropped.
    var isUsingTool = false
    var fates: [String: [String: Fate]] = [:]
    /// The values at the broker, and the revisions by identifier of the message.
    var values: [String: String] = [:]
    var revisions: [String: UInt64] = [:]

    /// What was not as it has to be.
    private(set) var problems: [String] = []
    private(set) var log: [String] = []

    /// What a history has; chosen by the seed.
    struct Plan {
        let hasPlain: Bool
        let hasStates: Bool
        let hasPatterns: Bool
        let hasRequests: Bool
        let hasRelay: Bool
        let isSmall: Bool
        let failureLimit: Int
        /// Of listeners. What is late counts as failed, and is heard even so: also again, and after the end.
        var timeout: Duration?
    }

    init(seed: Int, _ executor: SeededExecutor) {
        self.executor = executor
        var random = SeededGenerator(seed: seed ^ 0x5EED)
        func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
        plan = Plan(
            hasPlain: chance(2),
            hasStates: chance(2),
            hasPatterns: chance(3),
            hasRequests: chance(3),
            hasRelay: chance(3),
            isSmall: chance(4),
            failureLimit: Int.random(in: 1...3, using: &random)
        )
        if !plan.isSmall, chance(4) { plan.timeout = .seconds(Int.random(in: 1...15, using: &random)) }
        let limits = InMemoryBroker.Limits(bodyLimit: Self.bodyLimit, keptMessages: plan.isSmall ? 6 : 1_000)
        broker = InMemoryBroker(limits: limits, clock: clock)
        office = Office(clock)
        self.random = random
    }

    func note(_ line: @autoclosure () -> String) { log.append(line()) }

    func fail(_ problem: String) {
        log.append("PROBLEM: " + problem)
        problems.append(problem)
    }

    func check(_ condition: Bool, _ problem: @autoclosure () -> String) { if !condition { fail(problem()) } }

    // MARK: Chance and time

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func chance(_ count: Int) -> Bool { number(1...count) == 1 }

    func turn() async { await executor.turn() }

    func turns(upTo count: Int) async { for _ in 0..<number(0...count) { await turn() } }

    func rest() async { await executor.rest() }

    // MARK: What is known

    /// A durable name and one of its channels: a name on another pattern is another one.
    static func name(_ name: String, _ subject: String) -> String { "\(name) \(subject.split(separator: ".").last!)" }

    /// The text in the JSON of a message or value.
    static func text(of message: TransportMessage) -> String {
        let parts = String(decoding: message.body, as: UTF8.self).split(separator: "\"")
        return String(parts.count > 3 ? parts[3] : parts[0])
    }

    /// The broker has stored a message or a letter.
    func isStored(_ message: TransportMessage) {
        let text = Self.text(of: message)
        if message.isDeadLetter {
            let name = message.headers["dead-letter-name"] ?? ""
            fates[Self.name(name, message.subject), default: [:]][text, default: Fate()].letters += 1
            return
        }
        messages[text]?.isStored = true
        subjects[text] = message.subject
    }

    func isSettled(_ text: String, _ name: String) { fates[name, default: [:]][text, default: Fate()].isSettled = true }

    func isDisturbed(_ text: String, _ name: String) {
        fates[name, default: [:]][text, default: Fate()].isDisturbed = true
    }
}
