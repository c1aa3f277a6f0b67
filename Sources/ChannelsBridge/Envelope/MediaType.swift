/// A media type without its parameters: `application/json` of `Application/JSON; charset=utf-8`.
struct MediaType: Hashable, Sendable {
    let text: String

    init(_ text: String) {
        // It is nearly always in this form already, and checking that takes a fraction of the time.
        let isPlain = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ";") && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
        }
        guard !isPlain else {
            self.text = text
            return
        }
        // In bytes, because a semicolon and a combining mark after it are one character.
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let type = text.utf8.prefix { $0 != UInt8(ascii: ";") }.drop(while: isSpace).prefix { !isSpace($0) }
        let lowercased = type.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        self.text = String(decoding: lowercased, as: UTF8.self)
    }

    var isJSON: Bool { text == "application/json" || text == "text/json" || text.hasSuffix("+json") }
}

extension Codec {
    /// Whether the codec reads messages of this media type. All JSON media types are equal.
    func reads(_ other: MediaType) -> Bool {
        let own = MediaType(contentType)
        return own == other || own.isJSON && other.isJSON
    }
}
