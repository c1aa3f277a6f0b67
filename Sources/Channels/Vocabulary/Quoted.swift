/// A text in quotation marks, escaped and truncated: names come from outside and end up in logs.
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

/// A number and what it counts: `1 post`, `2 posts`.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// A text of others as a part of a line: what would break a line of a log, or do worse, is escaped.
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
    /// Whether characters of this category can be printed as they are: control characters, and line and paragraph
    /// separators would break a line of a log, or worse.
    fileprivate var isShownAsItIs: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
