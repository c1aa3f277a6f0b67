/// A pattern of channel names: `*` stands for one token, a last `>` for one or more.
///
/// `shop.*` matches `shop.checkout` but not `shop.checkout.done`; `shop.>` matches both, and not `shop`.
/// Wildcards are whole tokens, as in NATS subjects. Everything else is as in ``ChannelName``, also for
/// literals: one with interpolation needs `try ChannelPattern(validating:)`.
public struct ChannelPattern: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The text of the pattern.
    public let text: String

    /// Creates a pattern from a text at run time.
    ///
    /// - Throws: ``ChannelError/Code/invalidName`` with what is wrong with it.
    public init(validating text: String) throws {
        if let problem = NameKey.problem(of: text, isPattern: true) {
            throw ChannelError(.invalidName, name: text, "\(quoted(text)) is not a valid channel pattern: \(problem)")
        }
        self.text = text
    }

    /// Creates a pattern from a literal. Traps if it is not a valid pattern.
    public init(stringLiteral text: String) {
        do { self = try ChannelPattern(validating: text) } catch { fatalError("\(error)") }
    }

    /// Whether a name matches. The text is not validated: an invalid name may match.
    ///
    /// - Complexity: O(*n*) in the length of the name.
    public func matches(_ name: String) -> Bool {
        var pattern = text.utf8[...]
        var name = name.utf8[...]
        let stop = UInt8(ascii: ".")
        while true {
            let patternToken = pattern.prefix { $0 != stop }
            let nameToken = name.prefix { $0 != stop }
            if patternToken.elementsEqual(">".utf8) { return !nameToken.isEmpty }
            let isMatch =
                patternToken.elementsEqual("*".utf8) ? !nameToken.isEmpty : patternToken.elementsEqual(nameToken)
            guard isMatch else { return false }
            let patternEnds = patternToken.endIndex == pattern.endIndex
            let nameEnds = nameToken.endIndex == name.endIndex
            guard !patternEnds, !nameEnds else { return patternEnds && nameEnds }
            pattern = pattern[pattern.index(after: patternToken.endIndex)...]
            name = name[name.index(after: nameToken.endIndex)...]
        }
    }

    /// Whether both have the same Unicode scalars.
    public static func == (left: ChannelPattern, right: ChannelPattern) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }

    /// The text of the pattern.
    public var description: String { text }
}
