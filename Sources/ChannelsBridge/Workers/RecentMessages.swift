internal import Channels

/// Remembers a fact about the latest messages, such as how often they failed: at least the last `limit`, and
/// at most twice as many.
///
/// A message is remembered by a hash, so that it takes up the same few bytes no matter how long the texts
/// from a peer are.
struct RecentMessages<Fact: Sendable>: Sendable {
    private let limit: Int
    private var recent: [MessageKey: Fact] = [:]
    private var older: [MessageKey: Fact] = [:]

    /// - Precondition: `limit` is positive.
    init(limit: Int) {
        require(limit > 0, "defect of swift-channels: a window of \(limit) messages is not positive")
        self.limit = limit
    }

    subscript(message: MessageKey) -> Fact? {
        get { recent[message] ?? older[message] }
        set {
            if newValue == nil { older[message] = nil }
            if newValue != nil, recent[message] == nil, recent.count >= limit { (older, recent) = (recent, [:]) }
            recent[message] = newValue
        }
    }
}

/// Remembers the lowest number that each message has had in its stream.
extension RecentMessages<UInt64> {
    /// Whether a message was added before with a number that is not higher. A message without a number only
    /// has to have been added.
    ///
    /// - Parameter number: The number of the message in its stream, if there is one.
    func contains(_ message: MessageKey, number: UInt64?) -> Bool {
        guard let first = self[message] else { return false }
        return number.map { $0 >= first } ?? true
    }

    mutating func add(_ message: MessageKey, number: UInt64?) {
        self[message] = min(self[message] ?? .max, number ?? 0)
    }
}

/// Remembers how often each message has failed: by the broker's identifier, or else by the envelope in its headers.
extension RecentMessages<Int> {
    /// How often it has failed here; nil if that is not known. Of a message that nothing identifies, only the broker
    /// knows how often it came.
    subscript(inbound: InboundMessage) -> Int? {
        get { inbound.key.map { self[$0] } ?? (inbound.deliveryCount > 1 ? inbound.deliveryCount - 1 : nil) }
        set { if let key = inbound.key { self[key] = newValue } }
    }
}

extension InboundMessage {
    fileprivate var key: MessageKey? {
        if let identity { return MessageKey(identity) }
        let (id, source) = (message.headers[TransportHeaders.id], message.headers[EventEnvelope.Header.source])
        return id.map { MessageKey(message.subject, source ?? "", $0) }
    }
}
