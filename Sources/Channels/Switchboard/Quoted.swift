/// A text in quotation marks, escaped and truncated: names come from outside and end up in logs.
package func quoted(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(80) {
        // Control characters, line and paragraph separators would break a line of a log, or worse.
        let isHarmless = scalar.properties.generalCategory.isShownAsItIs
        shown += scalar.escaped(asASCII: !isHarmless)
    }
    return "'\(shown)\(text.unicodeScalars.count > 80 ? "…" : "")'"
}

extension Unicode.GeneralCategory {
    /// Whether characters of this category can be printed as they are.
    fileprivate var isShownAsItIs: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
