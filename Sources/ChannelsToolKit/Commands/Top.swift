#if Tool
import ArgumentParser
import Channels
import ChannelsBridge
import Foundation

struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows which channels are busiest, live.",
        discussion: """
            Prints a table of names with messages and bytes per second, and messages
            since it began; the busiest name comes first. In a terminal, each table
            replaces the previous one; elsewhere, it follows it.

            EXAMPLES
              channels top
              channels top 'shop.>' --every 5
              channels top --times 1 | head -5
            """
    )

    @Argument(help: "A name, or a pattern in which '*' stands for one token and '>' for the rest.")
    var pattern = ">"

    @Option(help: ArgumentHelp("The time between two refreshes.", valueName: "seconds"))
    var every = 1.0

    @Option(help: ArgumentHelp("Stop after this many refreshes.", valueName: "n"))
    var times: Int?

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        if !(0.1...3_600).contains(every) {
            throw ValidationError("--every is \(every); it must be from 0.1 to 3600 seconds")
        }
        if let times, times < 1 { throw ValidationError("--times is \(times); it must be at least 1") }
    }

    func run() async {
        await reportingFailures {
            let valid = try validPattern(pattern)
            let transport = try await connection.connect()
            let ending = Ending(after: times)
            let counts = SharedCounts()
            let isForInternal = pattern.utf8.first == UInt8(ascii: "$") || pattern.utf8.first == UInt8(ascii: "_")
            try await transport.subscribe(to: valid, durableName: nil) { inbound in
                let message = inbound.message
                // Replies, and what clients and servers tell each other, are not channels.
                let subject = message.subject.utf8
                if !isForInternal, subject.first == UInt8(ascii: "$") || subject.starts(with: "_INBOX.".utf8) { return }
                counts.guarded.withLock { $0.add(message.subject, bytes: message.body.count) }
            }
            StandardStreams.report("listening to \(pattern)")
            let drawing = Task { await draw(counts, ending) }
            try await ending.closing(transport)
            drawing.cancel()
        }
    }

    private func draw(_ counts: SharedCounts, _ ending: Ending) async {
        let isTerminal = isatty(STDOUT_FILENO) != 0
        let clock = ContinuousClock()
        var last = clock.now
        while (try? await Task.sleep(for: .seconds(every))) != nil, ending.takesOne() {
            let now = clock.now
            let (rows, others) = counts.guarded.withLock { $0.take() }
            let size = isTerminal ? Self.terminalSize : (rows: Int.max, columns: 100)
            let table = TopTable(
                rows,
                others,
                seconds: (now - last) / .seconds(1),
                rows: size.rows,
                columns: size.columns
            )
            last = now
            // Moves to the top left. Each line, and then the rest of the screen, is cleared while it is
            // drawn, so that nothing flickers.
            let home = isTerminal ? "\u{1B}[H" : ""
            let end = isTerminal ? "\u{1B}[K\n" : "\n"
            StandardStreams.show(home + table.lines.joined(separator: end) + (isTerminal ? "\u{1B}[K\u{1B}[J" : "\n"))
            ending.endIfEnough()
        }
    }

    private static var terminalSize: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 4, size.ws_col > 40 else {
            return (24, 80)
        }
        return (Int(size.ws_row), Int(size.ws_col))
    }
}

/// Counts that the receiving threads write, and the drawing thread reads.
private final class SharedCounts: Sendable {
    let guarded = Locked(Counts())
}

/// The counts of each name.
private struct Counts {
    struct Row {
        var name: String
        var messages = 0
        var bytes = 0
        var total = 0
    }

    /// The maximum number of names listed. Further ones are counted together, because anybody can make up
    /// names.
    private static let most = 10_000

    private var rows: [ExactText: Row] = [:]
    private var others = 0

    mutating func add(_ name: String, bytes: Int) {
        let key = ExactText(name)
        guard rows.count < Self.most || rows[key] != nil else {
            others += 1
            return
        }
        var row = rows[key] ?? Row(name: name)
        row.messages += 1
        row.bytes += bytes
        row.total += 1
        rows[key] = row
    }

    /// Returns the rows, and the number of messages under other names, since the last call.
    mutating func take() -> (rows: [Row], others: Int) {
        defer {
            for name in rows.keys {
                rows[name]?.messages = 0
                rows[name]?.bytes = 0
            }
            others = 0
        }
        return (Array(rows.values), others)
    }
}

/// A table that fits a terminal.
private struct TopTable {
    let lines: [String]

    init(_ rows: [Counts.Row], _ others: Int, seconds: Double, rows height: Int, columns width: Int) {
        let messages = rows.reduce(others) { $0 + $1.messages }
        let sorted = rows.sorted { ($1.messages, $1.total, $0.name) < ($0.messages, $0.total, $1.name) }
        let rate = Self.short(Double(messages) / seconds)
        var lines = ["\(rows.count) \(rows.count == 1 ? "channel" : "channels"), \(rate) messages/s"]
        let nameWidth = width - 34
        lines.append(
            Self.left("CHANNEL", nameWidth) + Self.right("MESSAGES/S") + Self.right("BYTES/S") + Self.right("TOTAL")
        )
        // Leaves two lines above, one for the cursor, and one for the number of rows that do not fit.
        let room = max(1, height - 4)
        for row in sorted.prefix(room) {
            lines.append(
                Self.left(row.name.escaped, nameWidth)
                    + Self.right(row.messages == 0 ? "-" : Self.short(Double(row.messages) / seconds))
                    + Self.right(row.bytes == 0 ? "-" : Self.short(Double(row.bytes) / seconds))
                    + Self.right(Self.short(Double(row.total)))
            )
        }
        if sorted.count > room { lines.append("and \(sorted.count - room) more") }
        if others > 0 { lines.append("and \(others) messages under further names") }
        self.lines = lines
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text.count > width
            ? text.prefix(width - 1) + "…" : text + String(repeating: " ", count: width - text.count)
    }

    private static func right(_ text: String) -> String {
        String(repeating: " ", count: max(1, 11 - text.count)) + text
    }

    /// A number in a few characters: 0.5, 12, 3.4k, 5.6M.
    static func short(_ value: Double) -> String {
        for (size, unit) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] where value >= size {
            return trimmed(value / size) + unit
        }
        return trimmed(value)
    }

    private static func trimmed(_ value: Double) -> String {
        value >= 99.95 || value == value.rounded() ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
    }
}
#endif
