/// How a message came in from another process: what identifies it, when it was posted, and how often it was delivered.
///
/// A listener of durable messages is called at least once for each. By the identifier it can tell a message that it
/// has handled before.
public struct RemoteDelivery: Sendable {
    private final class Storage: Sendable {
        let id: String
        let time: String?
        let attempt: Int
        let context: (any Sendable)?

        init(_ id: String, _ time: String?, _ attempt: Int, _ context: (any Sendable)?) {
            self.id = id
            self.time = time
            self.attempt = attempt
            self.context = context
        }
    }

    /// One reference, because every message from another process carries it.
    private let storage: Storage

    /// What identifies the message: the same at each delivery and in each process that receives it, and another one
    /// for every other message of ``Posted/origin``. Empty if its sender gave it no identifier and the broker has none.
    public var id: String { storage.id }

    /// When the message was posted, as its sender says, in RFC 3339: `2026-01-31T12:34:56.789Z`. Nil if it says
    /// nothing. The clocks of two machines differ.
    public var time: String? { storage.time }

    /// How often the message has been delivered to this durable name, this time included; 1 for one that is not
    /// durable. Deliveries to processes that ended before they had settled it count, as far as the broker knows.
    public var attempt: Int { storage.attempt }

    /// What the transport keeps with the message until its listeners have finished.
    package var context: (any Sendable)? { storage.context }

    /// Creates a description, for tests of code that takes one.
    public init(id: String, time: String? = nil, attempt: Int = 1) {
        self.init(id: id, time: time, attempt: attempt, context: nil)
    }

    package init(id: String, time: String?, attempt: Int, context: (any Sendable)?) {
        storage = Storage(id, time, attempt, context)
    }
}

extension RemoteDelivery: CustomStringConvertible {
    /// One line: the identifier, the time and the number of the attempt.
    public var description: String {
        "\(quoted(id))\(time.map { ", posted at \(onOneLine($0))" } ?? ""), attempt \(attempt)"
    }
}
