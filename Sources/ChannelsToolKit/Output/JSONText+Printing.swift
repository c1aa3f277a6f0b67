#if Tool
import ChannelsBridge
import Foundation

extension JSONText {
    /// The text in one line. Line breaks between its parts become spaces; characters that could control a terminal are
    /// escaped.
    var line: String {
        var line = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            switch scalar {
            // Inside a string, these would be escaped already.
            case "\n", "\r", "\t": line += " "
            case _ where scalar.isHidden: line += scalar.escapedAsInJSON
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// The text with a line for each member and element.
    var pretty: String {
        var text = ""
        var depth = 0
        var (isString, isEscaped) = (false, false)
        // Whether the innermost open object or array has no contents so far.
        var isEmpty = false
        // The indentation is limited, because otherwise each line of a deeply nested text would be as long as
        // the text is deep.
        func newLine() -> String { "\n" + String(repeating: "  ", count: min(depth, 40)) }
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if isString {
                text += scalar.isHidden ? scalar.escapedAsInJSON : String(scalar)
                isString = isEscaped || scalar != "\""
                isEscaped = !isEscaped && scalar == "\\"
                continue
            }
            switch scalar {
            case " ", "\n", "\r", "\t": continue
            case "]", "}":
                depth -= 1
                if !isEmpty { text += newLine() }
                isEmpty = false
                text.unicodeScalars.append(scalar)
            case ",": text += "," + newLine()
            case ":": text += ": "
            default:
                if isEmpty { text += newLine() }
                isEmpty = scalar == "[" || scalar == "{"
                if isEmpty { depth += 1 }
                isString = scalar == "\""
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Creates a JSON string.
    init(string: String) {
        self.init(encoding: string)
    }

    /// Creates an object with these members, in this order.
    init(members: [(name: String, value: JSONText)]) {
        let text = members.map { member in
            JSONText(string: member.name).bytes + [UInt8(ascii: ":")] + member.value.bytes
        }
        // Safe, because the parts are JSON.
        self = JSONText([UInt8(ascii: "{")] + text.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")])!
    }

    init(encoding value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Safe, because strings and dictionaries of strings can always be encoded, and Foundation writes
        // JSON.
        self = (try? encoder.encode(value)).flatMap { JSONText(Array($0)) }!
    }
}
#endif
