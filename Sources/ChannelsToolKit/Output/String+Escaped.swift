#if Tool
extension String {
    /// The text in one line. Characters that could control a terminal or change the order of others are
    /// written as `\u` and four digits, as in JSON, so that a JSON string keeps its value.
    var escaped: String {
        guard unicodeScalars.contains(where: \.isHidden) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isHidden { text += scalar.escapedAsInJSON } else { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal does not show it, or obeys it.
    var isHidden: Bool {
        switch self {
        case " "..."~": false
        // These join the characters of some scripts, and emoji.
        case "\u{200C}", "\u{200D}": false
        default:
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }

    /// `\u` and four digits, once or twice.
    var escapedAsInJSON: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
#endif
