import Channels
import ChannelsBridge

extension Wire: MessageStore {
    func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        try await round(nil) { [base] in try await base.unsettledCount(of: name, on: pattern) }
    }

    func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]
    {
        try await round(nil) { [base] in try await base.stored(after: number, matching: pattern, atMost: limit) }
    }

    func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        try await round(nil) { [base] in try await base.remove(number, on: pattern) }
    }

    func prepare(forLetterOn subject: String, under prefix: String) async throws {
        do {
            try await round(subject) { [base] in try await base.prepare(forLetterOn: subject, under: prefix) }
        } catch {
            hasFailedLetters = true
            throw error
        }
    }
}
