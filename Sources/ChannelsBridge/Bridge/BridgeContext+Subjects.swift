internal import Channels

/// Subjects at the broker are the names of channels behind ``BridgeConfiguration/subjectPrefix``.
extension BridgeContext {
    /// The subject of a name.
    func subject(of name: String) -> String {
        configuration.subjectPrefix.isEmpty ? name : "\(configuration.subjectPrefix).\(name)"
    }

    /// The pattern of the subjects of names that match a pattern.
    ///
    /// - Throws: ``BridgeError/Code/invalidName`` if it is too long.
    func subjects(matching pattern: ChannelPattern) throws -> ChannelPattern {
        guard !configuration.subjectPrefix.isEmpty else { return pattern }
        do { return try ChannelPattern(validating: subject(of: pattern.text)) } catch {
            throw BridgeError(.invalidName, subject: pattern.text, underlyingError: error)
        }
    }

    /// The name of a subject that matches one of those patterns.
    func name(ofSubject subject: String) -> String {
        configuration.subjectPrefix.isEmpty ? subject : String(subject.dropFirst(configuration.subjectPrefix.count + 1))
    }
}
