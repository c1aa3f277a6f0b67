extension String {
    /// The text with nothing in it that moves a cursor, colours, breaks the line or reverses its order: such
    /// scalars are shown as `\u{1B}`.
    ///
    /// Whatever comes from a file or from the command line reaches the terminal through this.
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
    /// So many of something: `1 sale`, `2 sales`.
    func of(_ one: String, _ many: String) -> String {
        "\(self) \(self == 1 ? one : many)"
    }
}
