/// A pattern of channel names: `*` matches one segment, a trailing `>` matches one or more.
///
/// `shop.*` matches `shop.checkout` but not `shop.checkout.done`; `shop.>` matches both, but not `shop`.
/// Wildcards are whole segments, as in NATS subjects. Other segments follow the rules of ``ChannelName``.
public struct ChannelPattern: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The text of the pattern.
    public let text: String

    /// Creates a pattern from a string at run time.
    /// - Throws: ``ChannelError/Code/invalidName``.
    public init(validating text: String) throws {
        if let problem = NameKey.problem(of: text, isPattern: true) {
            throw ChannelError(.invalidName, name: text, "\(quoted(text)) is not a valid channel pattern: \(problem)")
        }
        self.text = text
    }

    /// Creates a pattern from a literal. Traps if it is invalid.
    public init(stringLiteral text: String) {
        do { self = try ChannelPattern(validating: text) } catch {
            fatalError("\(error); 'ChannelPattern(validating:)' throws instead")
        }
    }

    /// The only name that matches; nil if the pattern has wildcards.
    package var onlyName: String? {
        text.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: ">") } ? nil : text
    }

    /// Returns whether a name matches. The name is not validated: an invalid one may match.
    /// - Complexity: O(*n*) in the length of the name.
    public func matches(_ name: String) -> Bool {
        text.withByteReader { pattern in name.withByteReader { Self.matches(pattern, $0) } }
    }

    private static func matches(_ pattern: ByteReader, _ name: ByteReader) -> Bool {
        let stop = UInt8(ascii: ".")
        var next = 0
        for index in 0..<pattern.count {
            // Whether there is a segment, or the rest of one, at this place.
            let isInToken = next < name.count && name[next] != stop
            switch pattern[index] {
            case UInt8(ascii: ">"): return isInToken
            case UInt8(ascii: "*"):
                guard isInToken else { return false }
                while next < name.count, name[next] != stop { next += 1 }
            case let byte:
                guard next < name.count, name[next] == byte else { return false }
                next += 1
            }
        }
        return next == name.count
    }

    /// Returns whether the two patterns have the same Unicode scalars.
    public static func == (left: ChannelPattern, right: ChannelPattern) -> Bool {
        left.text.hasBytes(of: right.text)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(NameScanner.hash(text)) }

    /// The text of the pattern.
    public var description: String { text }
}
