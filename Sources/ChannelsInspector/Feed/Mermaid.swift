#if Inspector
internal import Channels

/// Returns the graph as text for Mermaid, which a Markdown file can contain.
///
/// Names are quoted, and everything that Mermaid or a browser could read as markup is written as an entity.
func mermaid(_ channels: [Reading.Channel]) -> String {
    var lines = ["flowchart LR"]
    var nodes: [ExactText: String] = [:]
    func node(_ text: String, _ prefix: String, _ open: String, _ close: String) -> String {
        let key = ExactText(prefix + text)
        if let known = nodes[key] { return known }
        let name = "\(prefix)\(nodes.count)"
        nodes[key] = name
        lines.append("  \(name)\(open)\"\(quoted(text))\"\(close)")
        return name
    }
    for channel in channels {
        let middle = node("\(channel.name): \(channel.type)", "c", "([", "])")
        for sender in Set(channel.senders.compactMap(\.type)).sorted() {
            lines.append("  \(node(sender, "s", "[", "]")) --> \(middle)")
        }
        for owner in Set(channel.listeners.map { $0.owner ?? "token" }).sorted() {
            lines.append("  \(middle) --> \(node(owner, "l", "[", "]"))")
        }
    }
    return lines.joined(separator: "\n") + "\n"
}

private func quoted(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
        switch scalar {
        case "\"", "<", ">", "&", "#", ";", "`", "\\", "[", "]", "{", "}", "(", ")", "|": "#\(scalar.value);"
        default: scalar.isInvisible ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
    }
    .joined()
}

extension Unicode.Scalar {
    /// Whether it is invisible, but changes how the text around it looks.
    var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: true
        default: false
        }
    }
}
#endif
