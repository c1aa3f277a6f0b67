#if NATS
import ChannelsBridge
import Foundation

/// Validates subjects. The C client does not: a line break in a subject would end the line of the protocol,
/// and the rest would be a separate command. `TransportHeaders.check` does the same for headers.
enum WireRules {
    /// Longer than the 1,024 bytes of a channel name, because inboxes and the subjects of JetStream add to
    /// it.
    static let longestSubject = 2_048

    /// Throws unless the text is a subject without wildcards.
    static func check(subject: String) throws(BridgeError) {
        try check(subject, isPattern: false)
    }

    /// Throws unless the text is a subject in which `*` and `>` may be whole tokens.
    static func check(pattern: String) throws(BridgeError) {
        try check(pattern, isPattern: true)
    }

    private static func check(_ text: String, isPattern: Bool) throws(BridgeError) {
        guard let problem = problem(ofSubject: text, isPattern: isPattern) else { return }
        let detail = "'\(text.singleLine)' is not a \(isPattern ? "pattern" : "subject"): \(problem)"
        throw BridgeError(.invalidName, subject: text.singleLine, detail)
    }

    private static func problem(ofSubject text: String, isPattern: Bool) -> String? {
        guard !text.isEmpty else { return "it is empty" }
        guard text.utf8.count <= longestSubject else {
            return "it has \(text.utf8.count) bytes, more than \(longestSubject)"
        }
        // The number of bytes in the current token, whether it has a wildcard, and whether a token was `>`.
        var (length, hasWildcard, sawTail) = (0, false, false)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                if length == 0 { return "it has an empty token" }
                if hasWildcard, length > 1 { return "'*' and '>' must be whole tokens" }
                if sawTail { return "'>' is not its last token" }
                (length, hasWildcard) = (0, false)
            case 0...0x20, 0x7F: return "it has \(byte == 0x20 ? "a space" : "a control character")"
            case UInt8(ascii: "*"), UInt8(ascii: ">"):
                guard isPattern else { return "'*' and '>' are for patterns" }
                (length, hasWildcard) = (length + 1, true)
                sawTail = byte == UInt8(ascii: ">")
            default: length += 1
            }
        }
        if length == 0 { return "it has an empty token" }
        return hasWildcard && length > 1 ? "'*' and '>' must be whole tokens" : nil
    }
}

extension String {
    /// Whether both have the same bytes. Equal strings may have different bytes, because a letter with a
    /// combining accent equals the accented letter.
    func hasSameBytes(as other: String) -> Bool {
        utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable {
                $0.count == bytes.count && memcmp($0.baseAddress!, bytes.baseAddress!, bytes.count) == 0
            }
        } == .some(.some(true))
    }
}
#endif
