/// A key of a switchboard: a valid name without its type, or a type of message.
@usableFromInline
struct NameKey: Hashable, Sendable {
    /// The name; empty if the key stands for a type.
    let text: String
    /// The hash of the bytes, seeded per process, because names may come from outside.
    let hash: UInt64
    /// The type of message, by identity, so that two types of the same name differ. Nil if the key stands for a name.
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
            fatalError("\(quoted(text)) is not a valid channel name: \(problem); 'init(validating:)' throws instead")
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

    /// The name; nil if the key stands for a type.
    var name: String? { type == nil ? text : nil }

    @usableFromInline
    static func == (left: NameKey, right: NameKey) -> Bool {
        guard left.hash == right.hash, left.type == right.type else { return false }
        // The same literal or buffer: nothing to compare.
        if left.text.hasRepresentation(of: right.text) { return true }
        return left.text.hasBytes(of: right.text)
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension NameKey {
    /// Returns why a text is not a valid name or pattern; nil if it is.
    static func problem(of text: String, isPattern: Bool) -> String? {
        guard text.utf8.count <= longest else { return "it has \(text.utf8.count) bytes, more than \(longest)" }
        guard !text.isEmpty else { return "it is empty" }
        var tokenLength = 0
        var wildcards = 0
        var sawTail = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case ".":
                if let problem = problem(ofToken: tokenLength, wildcards) { return problem }
                if sawTail { return "'>' is not its last token" }
                tokenLength = 0
                wildcards = 0
                continue
            case "*", ">":
                if !isPattern { return "'*' and '>' are for patterns" }
                wildcards += 1
                if scalar == ">" { sawTail = true }
            default:
                if scalar.properties.isWhitespace { return "it has white space" }
                if scalar.properties.generalCategory == .control { return "it has a control character" }
            }
            tokenLength += 1
        }
        return problem(ofToken: tokenLength, wildcards)
    }

    private static func problem(ofToken length: Int, _ wildcards: Int) -> String? {
        if length == 0 { return "it has an empty token" }
        return wildcards > 0 && length > 1 ? "'*' and '>' must be whole tokens" : nil
    }
}
