internal import Channels

/// Converts between channel names and subjects at the broker: a subject is the ``subjectPrefix``, a dot and
/// the name.
extension BridgeConfiguration {
    /// The subject of a name.
    func subject(of name: String) -> String {
        subjectPrefix.isEmpty ? name : "\(subjectPrefix).\(name)"
    }

    /// The pattern of the subjects of names that match a pattern.
    ///
    /// - Throws: ``BridgeError/Code/invalidName`` if it is too long.
    func subjects(matching pattern: ChannelPattern) throws -> ChannelPattern {
        guard !subjectPrefix.isEmpty else { return pattern }
        do { return try ChannelPattern(validating: subject(of: pattern.text)) } catch {
            throw BridgeError(.invalidName, subject: pattern.text, underlyingError: error)
        }
    }

    /// The name of a subject that has the prefix.
    func name(ofSubject subject: String) -> String {
        let count = subjectPrefix.utf8.count
        // Counted in bytes, because a dot and a combining mark after it are one character.
        return count == 0 ? subject : String(decoding: subject.utf8.dropFirst(count + 1), as: UTF8.self)
    }
}
