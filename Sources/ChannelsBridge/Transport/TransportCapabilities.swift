/// What a transport can do beyond at-most-once delivery of messages with headers.
public struct TransportCapabilities: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Durable messages: the broker stores them until they are settled.
    public static let durable = TransportCapabilities(rawValue: 1 << 0)
    /// Requests and replies.
    public static let requests = TransportCapabilities(rawValue: 1 << 1)
    /// Last values: the broker stores the last value of a subject.
    public static let lastValues = TransportCapabilities(rawValue: 1 << 2)

    /// Groups: each message that is not durable goes to one subscriber of a group.
    public static let groups = TransportCapabilities(rawValue: 1 << 3)
    /// Replay: durable messages are stored even if no durable name is known; a new name starts with them, or
    /// where its subscription says.
    public static let replay = TransportCapabilities(rawValue: 1 << 4)

    /// Everything.
    public static let all: TransportCapabilities = [.durable, .requests, .lastValues, .groups, .replay]
}

extension TransportCapabilities {
    /// The set as it is written in code: `[.durable, .replay]`.
    var asWritten: String {
        let names = [".durable", ".requests", ".lastValues", ".groups", ".replay"]
        let contained = names.enumerated().filter { rawValue & 1 << $0.offset != 0 }.map(\.element)
        return "[\(contained.joined(separator: ", "))]"
    }
}
