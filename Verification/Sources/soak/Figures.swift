import Channels
import Foundation

/// What a run has seen so far.
final class Figures: Sendable {
    struct Line: Sendable {
        var listeners = 0
        var calls = 0
        var dropped = 0
        var discarded = 0
    }

    let posts = Tally()
    let faults = Tally()
    private let lines = Locked<[String: Line]>([:])
    private let total = Tally()

    /// Deliveries checked so far.
    var deliveries: Int { total.value }

    func add(_ name: String, calls: Int, dropped: Int = 0, discarded: Int = 0) {
        total.add(calls)
        lines.withLock {
            $0[name, default: Line()].listeners += 1
            $0[name, default: Line()].calls += calls
            $0[name, default: Line()].dropped += dropped
            $0[name, default: Line()].discarded += discarded
        }
    }

    func add(_ listener: Listener) {
        add(
            listener.kind.rawValue,
            calls: listener.checker.calls,
            dropped: listener.token.droppedCount,
            discarded: listener.token.discardedCount
        )
    }

    func add(_ reader: Reader) {
        // The bounds of sequences are drawn by lot: one line for all of them.
        let name =
            reader.checker.name.hasPrefix("state")
            ? reader.checker.name : reader.isBounded ? "sequence, bounded" : "sequence, unbounded"
        add(name, calls: reader.checker.calls, dropped: reader.messages.droppedCount)
    }

    /// A table, one line per kind of listener.
    var table: String {
        func row(_ name: String, _ cells: [Int]) -> String {
            name.padding(toLength: 34, withPad: " ", startingAt: 0)
                + cells.map { cell in
                    let text = "\(cell)"
                    return String(repeating: " ", count: max(0, 15 - text.count)) + text
                }.joined()
        }
        let lines = lines.withLock { $0 }.sorted { $0.key < $1.key }
        var sum = Line()
        for (_, line) in lines {
            sum.listeners += line.listeners
            sum.calls += line.calls
            sum.dropped += line.dropped
            sum.discarded += line.discarded
        }
        let header =
            "listener".padding(toLength: 34, withPad: " ", startingAt: 0)
            + ["registered", "delivered", "dropped", "discarded"].map {
                String(repeating: " ", count: 15 - $0.count) + $0
            }.joined()
        return
            ([header]
            + (lines.map { ($0.key, $0.value) } + [("all", sum)]).map { name, line in
                row(name, [line.listeners, line.calls, line.dropped, line.discarded])
            }).joined(separator: "\n")
    }
}
