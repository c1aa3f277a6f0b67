package import Channels

extension InMemoryTransport: LetterStore, CountingStore {
    package func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        try whileConnected(pattern.text) { $0.unsettledCount(of: name, on: pattern) }
    }

    /// Keeps letters for those who put them back, who may come later than the messages that the broker replays.
    package func prepare(forLetterOn subject: String, under prefix: String) async throws {
        let pattern = try ChannelPattern(validating: prefix + ".>")
        try whileConnected(subject) { $0.keep(pattern, for: DeadLetterBox.durableName) }
    }
}
