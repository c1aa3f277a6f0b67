#if Inspector
internal import Channels

/// The graph as text that Mermaid draws, as in a Markdown file.
///
/// The names are quoted, and of what Mermaid or a browser could read as markup only the entity is written.
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
    /// Whether it changes how the text around it looks without being seen itself.
    var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: true
        default: false
        }
    }
}
#endif
