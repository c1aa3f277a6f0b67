/// The identifier, the time and the number of deliveries of a message from another process.
///
/// A listener to durable messages receives each of them at least once. The identifier lets it recognize a message that
/// it has already handled.
public struct RemoteDelivery: Sendable {
    private final class Storage: Sendable {
        let id: String
        let secondsSince1970: Double?
        let attempt: Int
        let context: (any Sendable)?

        init(_ id: String, _ secondsSince1970: Double?, _ attempt: Int, _ context: (any Sendable)?) {
            self.id = id
            self.secondsSince1970 = secondsSince1970
            self.attempt = attempt
            self.context = context
        }
    }

    /// A single reference, because every message from another process carries one.
    private let storage: Storage

    /// The identifier of the message.
    ///
    /// It is the same at each delivery and in each process that receives the message, and differs from that of every
    /// other message with the same ``Posted/origin``. Empty if neither the sender nor the broker provides one.
    public var id: String { storage.id }

    /// When the message was posted, by the sender's clock, as Foundation's `timeIntervalSince1970`.
    ///
    /// If the sender does not provide this time, it is the time at which the message was stored; nil if that is not
    /// known either. The clocks of two machines differ.
    public var secondsSince1970: Double? { storage.secondsSince1970 }

    /// How many times the message has been delivered to this durable name, including this time; 1 if it is not durable.
    ///
    /// This includes deliveries to processes that ended before they had settled the message, as far as the broker
    /// knows.
    public var attempt: Int { storage.attempt }

    /// What the transport keeps with the message until its listeners have finished.
    package var context: (any Sendable)? { storage.context }

    /// Creates a value, for tests of code that takes one.
    public init(id: String, secondsSince1970: Double? = nil, attempt: Int = 1) {
        self.init(id: id, secondsSince1970: secondsSince1970, attempt: attempt, context: nil)
    }

    package init(id: String, secondsSince1970: Double?, attempt: Int, context: (any Sendable)?) {
        storage = Storage(id, secondsSince1970, attempt, context)
    }
}

extension RemoteDelivery: CustomStringConvertible {
    /// One line: the identifier and the number of the attempt.
    public var description: String { "\(quoted(id)), attempt \(attempt)" }
}
