import Foundation

/// Runs every case with every medium, each in a process of its own, because some crash or hang, and prints
/// the outcomes side by side.
@main
struct Suite {
    /// The medium of this process.
    nonisolated(unsafe) private static var medium = Medium.channel

    /// Another object of the same kind.
    static func another() -> Instance { medium.make() }

    /// What `Channel` does not do by default, and its documentation says so: more than 64 posts of one
    /// channel nested on a thread are refused, nested posts run at once, and a call that had passed its check
    /// when `cancel` was called on another thread may still run. A failure of any other case ends the suite
    /// with status 1.
    private static let documented: Set<String> = [
        "posts nested 1,000 deep all arrive",
        "listeners hear nested posts in one order",
        "no call begins after cancel has returned on another thread (2,000 tries)",
    ]

    private static let runs = 5

    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, let medium = Int(arguments[1]), let index = Int(arguments[2]) {
            return run(Case.all[index], Medium.all[medium])
        }
        guard arguments.count == 1 else {
            FileHandle.standardError.write(Data("usage: conformance\n".utf8))
            exit(64)
        }
        var unexpected: [String] = []
        var scores = Array(repeating: (passed: 0, asked: 0), count: Medium.all.count)
        say("| |", Medium.all.map(\.name).joined(separator: " | "), "|")
        say("|---|" + String(repeating: "---|", count: Medium.all.count))
        for (index, test) in Case.all.enumerated() {
            var cells: [String] = []
            for (number, medium) in Medium.all.enumerated() {
                let outcome = try outcomeOfSeveralRuns(test, index, medium, number)
                cells.append(outcome.cell)
                if outcome.isAsked { scores[number].asked += 1 }
                if outcome.isPassed { scores[number].passed += 1 }
                if number == 0, outcome.isAsked, !outcome.isPassed, !documented.contains(test.name) {
                    unexpected.append(test.name)
                }
            }
            say("| \(test.name) |", cells.joined(separator: " | "), "|")
        }
        say(
            "| passed, of those that apply |",
            scores.map { "\($0.passed) of \($0.asked)" }.joined(separator: " | "),
            "|"
        )
        guard unexpected.isEmpty else {
            FileHandle.standardError.write(Data("error: Channel failed: \(unexpected.joined(separator: "; "))\n".utf8))
            exit(1)
        }
    }

    /// A line at a time, also to a file.
    private static func say(_ parts: String...) {
        FileHandle.standardOutput.write(Data((parts.joined(separator: " ") + "\n").utf8))
    }

    private static func run(_ test: Case, _ medium: Medium) {
        alarm(20)
        self.medium = medium
        do {
            try test.run(medium.make())
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    private struct Outcome {
        var cell: String
        var isAsked = true
        var isPassed = false
    }

    /// Some outcomes depend on chance, such as the order of a hash table: what passed once may not have the
    /// next time.
    private static func outcomeOfSeveralRuns(_ test: Case, _ index: Int, _ medium: Medium, _ number: Int) throws
        -> Outcome
    {
        var outcome = try outcome(test, index, medium, number)
        for _ in 1..<runs where outcome.isPassed { outcome = try self.outcome(test, index, medium, number) }
        return outcome
    }

    private static func outcome(_ test: Case, _ index: Int, _ medium: Medium, _ number: Int) throws -> Outcome {
        guard !test.needsThreads || medium.isThreadSafe, !test.needsEndingWithToken || medium.endsWithToken else {
            return Outcome(cell: "-", isAsked: false)
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["\(number)", "\(index)"]
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text =
            String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n")
            .first ?? ""
        process.waitUntilExit()
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): return Outcome(cell: "yes", isPassed: true)
        case (.exit, _): return Outcome(cell: "no: \(text.count > 60 ? text.prefix(60) + "…" : text)")
        case (_, SIGALRM): return Outcome(cell: "no: it hangs")
        case (_, let signal): return Outcome(cell: "no: it crashes (signal \(signal))")
        }
    }
}
