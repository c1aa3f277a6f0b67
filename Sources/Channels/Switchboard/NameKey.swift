/// What a switchboard looks up: a valid name without its type, or a type of message.
@usableFromInline
struct NameKey: Hashable, Sendable {
    /// Empty if it stands for a type.
    let text: String
    /// Of the bytes, seeded per process: names may come from outside.
    let hash: UInt64
    /// The type of message it stands for, by identity, so that two types of one name differ.
    let type: ObjectIdentifier?

    static let longest = 1_024

    init(validating text: String) throws {
        if let hash = NameScanner.hashIfPlain(text) {
            self.init(text: text, hash: hash)
            return
        }
        if let problem = Self.problem(of: text, isPattern: false) {
            throw ChannelError(.invalidName, name: text, "\(quoted(text)) is not a valid channel name: \(problem)")
        }
        self.init(text: text, hash: NameScanner.hash(text))
    }

    @usableFromInline
    init(literal text: String) {
        if let hash = NameScanner.hashIfPlain(text) {
            self.init(text: text, hash: hash)
            return
        }
        if let problem = Self.problem(of: text, isPattern: false) {
            fatalError("\(quoted(text)) is not a valid channel name: \(problem)")
        }
        self.init(text: text, hash: NameScanner.hash(text))
    }

    /// The key of the unnamed channel of a type of message.
    @usableFromInline
    init(of type: any Any.Type) {
        text = ""
        self.type = ObjectIdentifier(type)
        hash = NameScanner.hash(ofAddress: UInt(bitPattern: ObjectIdentifier(type)))
    }

    private init(text: String, hash: UInt64) {
        self.text = text
        self.hash = hash
        type = nil
    }

    /// The name; nil if it stands for a type.
    var name: String? { type == nil ? text : nil }

    @usableFromInline
    static func == (left: NameKey, right: NameKey) -> Bool {
        guard left.hash == right.hash, left.type == right.type else { return false }
        // One literal, or one buffer: nothing to compare.
        if left.text.hasRepresentation(of: right.text) { return true }
        // String's == treats canonical equivalents as equal.
        return left.text.utf8.elementsEqual(right.text.utf8)
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension NameKey {
    /// What is wrong with a text as a name or pattern; nil if it is valid.
    static func problem(of text: String, isPattern: Bool) -> String? {
        guard !text.isEmpty else { return "it is empty" }
        guard text.utf8.count <= longest else { return "it has \(text.utf8.count) bytes, more than \(longest)" }
        var tokenLength = 0
        var wildcards = 0
        var sawTail = false
        for byte in text.utf8 {
            if byte >= 0x80 { return problemBeyondASCII(of: text, isPattern: isPattern) }
            switch byte {
            case UInt8(ascii: "."):
                if tokenLength == 0 { return "it has an empty token" }
                if wildcards > 0, tokenLength > 1 { return wildcardProblem }
                if sawTail { return "'>' is not its last token" }
                tokenLength = 0
                wildcards = 0
            case 0...0x1F, 0x7F, 0x20:
                return "it has \(byte == 0x20 || (9...13).contains(byte) ? "white space" : "a control character")"
            case UInt8(ascii: "*"), UInt8(ascii: ">"):
                if !isPattern { return "'*' and '>' are for patterns" }
                wildcards += 1
                tokenLength += 1
                if byte == UInt8(ascii: ">") { sawTail = true }
            default: tokenLength += 1
            }
        }
        if tokenLength == 0 { return "it has an empty token" }
        if wildcards > 0, tokenLength > 1 { return wildcardProblem }
        return nil
    }

    private static let wildcardProblem = "'*' and '>' must be whole tokens"

    /// What is wrong with a text that has scalars beyond ASCII; nil if it is valid.
    private static func problemBeyondASCII(of text: String, isPattern: Bool) -> String? {
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace { return "it has white space" }
            if scalar.properties.generalCategory == .control { return "it has a control character" }
            if !isPattern, scalar == "*" || scalar == ">" { return "'*' and '>' are for patterns" }
        }
        let tokens = text.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
        for (index, token) in tokens.enumerated() {
            if token.isEmpty { return "it has an empty token" }
            guard token.contains(where: { $0 == "*" || $0 == ">" }) else { continue }
            if token.count > 1 { return wildcardProblem }
            if token.first == ">", index < tokens.count - 1 { return "'>' is not its last token" }
        }
        return nil
    }
}
