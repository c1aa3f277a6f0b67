/// Quotes a text, escaped and truncated, because names may come from outside and appear in logs.
package func quoted(_ text: String) -> String {
    var shown = "'"
    for (index, scalar) in text.unicodeScalars.enumerated() {
        guard index < 80 else {
            shown += "…"
            break
        }
        shown += scalar.escaped(asASCII: !scalar.properties.generalCategory.isShownAsItIs)
    }
    return shown + "'"
}

/// Formats a number with its noun: `1 post`, `2 posts`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// Escapes control characters, and others that would break a line of a log or distort it.
package func onOneLine(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
        if scalar.properties.generalCategory.isShownAsItIs {
            shown.unicodeScalars.append(scalar)
        } else {
            shown += scalar.escaped(asASCII: true)
        }
    }
    return shown
}

extension Unicode.GeneralCategory {
    /// Whether a log can show the character unescaped. Others, such as control characters, could break its lines.
    fileprivate var isShownAsItIs: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
