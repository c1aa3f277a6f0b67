/// How many messages may wait for a listener or a sequence, and which is dropped when one more arrives.
///
/// Every drop is counted (``ListenerToken/droppedCount``). A drop by ``oldest(_:)`` also raises
/// ``Fault/Code/bufferOverflow``, because what came last is missing; a drop by ``newest(_:)`` is conflation,
/// and is not a fault.
public struct BufferingPolicy: Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable { case unbounded, oldest, newest }

    package let kind: Kind
    package let limit: Int

    /// No bound: every message waits.
    public static let unbounded = BufferingPolicy(kind: .unbounded, limit: .max)

    /// At most `limit` messages wait; a new one is dropped while that many do.
    ///
    /// - Precondition: `limit` is positive.
    public static func oldest(_ limit: Int) -> BufferingPolicy {
        require(limit > 0, "BufferingPolicy.oldest(\(limit)): the limit must be positive")
        return BufferingPolicy(kind: .oldest, limit: limit)
    }

    /// At most `limit` messages wait; when one more arrives, the one that has waited longest is dropped.
    ///
    /// - Precondition: `limit` is positive.
    public static func newest(_ limit: Int) -> BufferingPolicy {
        require(limit > 0, "BufferingPolicy.newest(\(limit)): the limit must be positive")
        return BufferingPolicy(kind: .newest, limit: limit)
    }

    /// As written in code: `newest(64)`.
    public var description: String {
        switch kind {
        case .unbounded: "unbounded"
        case .oldest: "oldest(\(limit))"
        case .newest: "newest(\(limit))"
        }
    }
}
