/// The name of a channel and the type of its messages.
///
/// ```swift
/// extension ChannelName<Checkout> { static var checkout: Self { "shop.checkout" } }
/// board.post(Checkout(), to: .checkout)
/// ```
///
/// A name is made of tokens between full stops. A token is not empty and has no white space (Unicode's `White_Space`), no control characters
/// and neither `*` nor `>`, which are for patterns. A name has at most 1,024 bytes of UTF-8. Two names are equal if they have the same Unicode
/// scalars: canonical equivalents (`é` in one scalar or two) are different names.
///
/// A literal with interpolation is not a name, because it is not known before run time whether it is valid: `try ChannelName(validating:)`.
public struct ChannelName<Message: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name that arrives at run time.
    ///
    /// - Throws: ``ChannelError/Code/invalidName`` with what is wrong with it.
    public init(validating text: String) throws {
        key = try NameKey(validating: text)
    }

    /// Creates a name from a literal. Traps where it is not a valid name.
    public init(stringLiteral text: String) {
        key = NameKey(literal: text)
    }

    /// The text of the name.
    public var description: String { text }
}

/// The name of a request channel and the types of its requests and responses.
///
/// ```swift
/// extension RequestName<Item, Price> { static var price: Self { "shop.price" } }
/// let price = try await board.requests(.price).ask(item)
/// ```
public struct RequestName<Request: Sendable, Response: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name that arrives at run time. See ``ChannelName/init(validating:)``.
    public init(validating text: String) throws {
        key = try NameKey(validating: text)
    }

    /// Creates a name from a literal. Traps where it is not a valid name.
    public init(stringLiteral text: String) {
        key = NameKey(literal: text)
    }

    /// The text of the name.
    public var description: String { text }
}

/// A valid name without its type: what a switchboard looks up.
struct NameKey: Hashable, Sendable {
    let text: String
    /// Of the bytes, seeded per process: names come from outside.
    let hash: UInt64

    private static let seed = UInt64.random(in: .min ... .max) | 1
    static let longest = 1_024

    init(validating text: String) throws {
        if let problem = Self.problem(of: text, isPattern: false) {
            throw ChannelError(.invalidName, name: text, "\(quoted(text)) is not a valid channel name: \(problem)")
        }
        self.init(valid: text)
    }

    init(literal text: String) {
        guard let problem = Self.problem(of: text, isPattern: false) else {
            self.init(valid: text)
            return
        }
        preconditionFailure("\(quoted(text)) is not a valid channel name: \(problem)")
    }

    private init(valid text: String) {
        self.text = text
        // The multiply-and-fold step of wyhash (Wang Yi, public domain), a byte at a time.
        var hash = Self.seed
        for byte in text.utf8 {
            let product = (hash ^ UInt64(byte)).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
            hash = product.high ^ product.low
        }
        self.hash = hash
    }

    static func == (left: NameKey, right: NameKey) -> Bool {
        guard left.hash == right.hash else { return false }
        // String's == takes canonical equivalents for equal.
        let areEqual = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in
                left.count == right.count && left.indices.allSatisfy { left[$0] == right[$0] }
            }
        }
        return (areEqual ?? nil) ?? left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    /// What is wrong with a text as a name or pattern; nil where nothing is.
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

    /// The same for texts with scalars beyond ASCII.
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

/// A text in quotation marks, with control characters made visible and a long one cut short: names come from outside and end up in logs.
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
    /// Whether characters of this category can be shown in a message as they are.
    fileprivate var isShownAsItIs: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
