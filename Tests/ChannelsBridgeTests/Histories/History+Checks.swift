import Channels
import ChannelsBridge
import TestSupport

extension History {
    /// The durable names of the processes, each of which is two names with a pattern.
    static let names: [(String, ChannelPattern)] = ["till", "kitchen"].flatMap { name in
        ["shop.asked", "shop.done"].map { (name, ChannelPattern(stringLiteral: $0)) }
    }

    /// How many messages the broker keeps for a durable name.
    func waiting(_ name: String, _ pattern: ChannelPattern) async -> Int {
        let observer = InMemoryTransport(broker)
        try? await observer.connect { _ in }
        let count = try? await observer.unsettledCount(of: name, on: pattern)
        try? await observer.close(timeout: .zero)
        return count ?? 0
    }

    /// A process has ended by itself.
    func hasEnded(_ process: Process, _ problem: BridgeError?) {
        let statistics = process.bridge.statistics
        let lost = process.accepted.filter { messages[$0]?.isStored != true }
        // "When the run ends, the bridge … lets listeners and responders finish. Then it sends what is queued,
        // including what these have posted."
        if problem == nil {
            check(lost.isEmpty, "\(process.label) has ended, and lost \(lost)")
            let mayBeFull = process.hasSmallBuffer || process.refused.isEmpty
            check(mayBeFull, "\(process.label) has ended, and refused what its listeners posted: \(process.refused)")
        }
        // "Every loss is counted and reported."
        check(
            lost.count <= statistics.dropped + statistics.failed,
            "\(process.label) lost \(lost) at its end: \(statistics)"
        )
        if statistics.losses > process.before.losses, problem == nil {
            check(process.faultCount > process.before.faults, "\(process.label) raised no fault: \(statistics)")
        }
        let waiting = statistics.waitingToSend + statistics.waitingToDeliver
        check(waiting == 0, "\(process.label) has ended, and something waits: \(statistics)")
        // Each message that it was given counts once; values are received, refused or come back, or are skipped.
        let ends = statistics.received + statistics.echoes + statistics.duplicates + statistics.refused
        let all = ends + statistics.retried + statistics.overflowed + statistics.unfinished
        let counts = process.wire.counts
        check(
            (counts.messages...counts.messages + counts.values).contains(all),
            "\(process.label) was given \(counts.messages) messages and \(counts.values) values: \(statistics)"
        )
        // What the broker acknowledges after the bridge has given up is dropped.
        check(
            problem != nil || statistics.sent == counts.sent - process.before.late,
            "\(process.label) has sent \(counts.sent): \(statistics)"
        )
    }

    /// Compares what was heard with what is promised, once nothing is left to be done.
    func compare() async {
        await compareMessages()
        compareStates()
        compareOffice()
        for process in processes {
            check(process.bridge.status.value.isReady, "\(process.label) is \(process.bridge.status.value)")
        }
    }

    private func compareMessages() async {
        var letters: [String: [DeadLetterBox.Letter]] = [:]
        let box = DeadLetterBox("dead", configuration: BridgeConfiguration(clock: clock))
        for letter in (try? await box.letters(over: InMemoryTransport(broker))) ?? [] {
            letters[Self.text(of: letter.message), default: []].append(letter)
        }
        for (text, message) in messages {
            // Dead letters: "the delivery?.id, time, type and headers of the original message".
            for letter in letters[text] ?? [] {
                check(letter.messageID == message.id ?? letter.messageID, "a letter of \(text) has another identifier")
            }
            guard message.isStored else {
                let heard = Self.names.filter { fates[Self.name($0.0, $0.1.text)]?[text] != nil }
                check(heard.isEmpty, "\(text) was heard, and is not stored")
                continue
            }
            compare(text, message, letters[text] ?? [])
        }
    }

    /// "A durable message reaches every durable name at least once", or becomes a letter.
    private func compare(_ text: String, _ message: Message, _ letters: [DeadLetterBox.Letter]) {
        for (name, pattern) in Self.names where subjects[text] == pattern.text {
            let key = Self.name(name, pattern.text)
            if fates[key]?[text]?.completed ?? 0 > 0 || message.isDropped { continue }
            let isLetter = letters.contains { $0.durableName == name }
            check(isLetter, "\(key) has not heard \(text)")
        }
    }

    /// "If two processes set a state at the same time, both end with the value that was stored last."
    private func compareStates() {
        for (subject, stored) in values {
            for process in processes {
                let value = process.value(of: subject)
                check(value == stored, "\(process.label) has \(subject) = \(value), stored is \(stored)")
            }
        }
        for process in processes where plan.hasPatterns {
            for place in 0..<3 {
                let value = process.value(of: "beat.\(place)")
                check(value == values["beat.\(place)"] ?? "none", "\(process.label) has beat.\(place) = \(value)")
            }
        }
    }
}

extension BridgeStatistics {
    /// How much of what was sent or received is lost.
    var losses: Int { dropped + failed + overflowed }
}
