#if Tool
extension String {
    /// The text in one line, with what could control a terminal or change the order of its characters written as
    /// `\u` and four digits, as in JSON. In a string of JSON, it stays the same string.
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
    /// Whether a terminal shows nothing for it, or does what it says.
    var isHidden: Bool {
        switch self {
        case " "..."~": false
        // They join the characters of some scripts, and emoji.
        case "\u{200C}", "\u{200D}": false
        default:
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }

    /// One or two times `\u` and four digits.
    var escapedAsInJSON: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
#endif
