#if Tool
import ChannelsBridge
import Foundation

/// A dead letter as people and programs read it.
struct PrintedLetter {
    private let letter: DeadLetterBox.Letter

    init(_ letter: DeadLetterBox.Letter) {
        self.letter = letter
    }

    private var message: PrintedMessage {
        PrintedMessage(channel: letter.message.subject, letter.message.headers, letter.message.body)
    }

    private var kept: String? { letter.secondsSince1970.map { Timestamp(secondsSince1970: $0).text } }

    /// The cells of a row in a table, in which a long reason is truncated.
    var row: [String] {
        let reason = letter.reason ?? "-"
        return [
            letter.id, kept.map { String($0.prefix(19)) + "Z" } ?? "-", letter.message.subject,
            letter.durableName ?? "-", letter.deliveryCount.map { "\($0)" } ?? "-",
            reason.count > 100 ? reason.prefix(99) + "…" : reason,
        ]
    }

    /// Several lines, of which the last has the message.
    var text: String {
        let message = message
        let lines = [
            ("letter", letter.id), ("channel", letter.message.subject), ("for", letter.durableName),
            ("reason", letter.reason), ("attempts", letter.deliveryCount.map { "\($0)" }), ("kept", kept),
            ("posted", message.postedTime), ("message", letter.messageID),
        ]
        let shown = lines.compactMap { name, value in value.map { Self.line(name, $0.escaped) } }
        return (shown + [Self.line("body", message.dataText)]).joined(separator: "\n")
    }

    private static func line(_ name: String, _ value: String) -> String {
        let indent = String(repeating: " ", count: 10)
        return name + indent.dropFirst(name.count) + value.replacing("\n", with: "\n" + indent)
    }

    var object: JSONText {
        var members: [(String, JSONText)] = []
        func add(_ name: String, _ value: (some Encodable)?) {
            if let value { members.append((name, JSONText(encoding: value))) }
        }
        add("letter", letter.id)
        add("for", letter.durableName)
        add("reason", letter.reason)
        add("attempts", letter.deliveryCount)
        add("kept", kept)
        members.append(("message", message.object(withHeaders: true)))
        return JSONText(members: members)
    }
}
#endif
