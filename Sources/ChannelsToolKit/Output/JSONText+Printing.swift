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
            // In a string, they would be escaped already.
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
        // What is open and has no contents so far.
        var isEmpty = false
        // A limit, because each line of a deep text would be as long as it is deep.
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

    /// A text as a string of JSON.
    init(string: String) {
        self.init(encoding: string)
    }

    /// An object with these members, in this order.
    init(members: [(name: String, value: JSONText)]) {
        let text = members.map { member in
            JSONText(string: member.name).bytes + [UInt8(ascii: ":")] + member.value.bytes
        }
        // Its parts are JSON.
        self = JSONText([UInt8(ascii: "{")] + text.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")])!
    }

    init(encoding value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Strings, and dictionaries of them, can always be encoded, and Foundation writes JSON.
        self = (try? encoder.encode(value)).flatMap { JSONText(Array($0)) }!
    }
}
#endif
