/// How many messages may be queued for a listener or a sequence, and which one is dropped when there are more.
///
/// Every drop is counted (``ListenerToken/droppedCount``). ``oldest(_:)`` also raises
/// ``Fault/Code/bufferOverflow``, because the latest message is lost; ``newest(_:)`` raises no fault.
public struct BufferingPolicy: Equatable, Sendable {
    package enum Kind: Sendable { case automatic, unbounded, oldest, newest }

    package let kind: Kind
    package let limit: Int

    /// Leaves the choice to the source.
    ///
    /// A channel keeps every message. A state keeps every value for a listener, but only the newest one for a sequence,
    /// so that the last value read is the one stored.
    public static let automatic = BufferingPolicy(kind: .automatic, limit: .max)

    /// Keeps every message.
    public static let unbounded = BufferingPolicy(kind: .unbounded, limit: .max)

    /// Keeps at most `limit` messages, and drops a new one while the buffer is full.
    /// - Precondition: `limit` is positive.
    public static func oldest(_ limit: Int) -> BufferingPolicy {
        require(
            limit > 0,
            "BufferingPolicy.oldest(\(limit)): the limit must be positive; write 1 or more, or .unbounded"
        )
        return BufferingPolicy(kind: .oldest, limit: limit)
    }

    /// Keeps at most `limit` messages, and drops the oldest one when another arrives.
    /// - Precondition: `limit` is positive.
    public static func newest(_ limit: Int) -> BufferingPolicy {
        require(
            limit > 0,
            "BufferingPolicy.newest(\(limit)): the limit must be positive; write 1 or more, or .unbounded"
        )
        return BufferingPolicy(kind: .newest, limit: limit)
    }

    @usableFromInline
    var isAutomatic: Bool { kind == .automatic }

    /// The policy as it is written in code: `newest(64)`.
    var text: String {
        switch kind {
        case .automatic: "automatic"
        case .unbounded: "unbounded"
        case .oldest: "oldest(\(limit))"
        case .newest: "newest(\(limit))"
        }
    }
}
