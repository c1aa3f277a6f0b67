extension String {
    /// The text without anything that moves the cursor, changes colors, breaks the line or reverses its
    /// order. Such scalars are written like `\u{1B}`.
    ///
    /// Everything from a file or the command line is printed in this form.
    var printable: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default:
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Int {
    /// A number of something: `1 sale`, `2 sales`.
    func of(_ one: String, _ many: String) -> String {
        "\(self) \(self == 1 ? one : many)"
    }
}
