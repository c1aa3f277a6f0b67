/// How much may wait in front of a listener or sequence, and what is dropped when more comes.
///
/// Every drop is counted (``ListenerToken/droppedCount``) and raises ``Fault/Code/bufferOverflow``.
public struct BufferingPolicy: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable { case unbounded, oldest, newest }

    let kind: Kind
    let limit: Int

    /// Everything waits.
    public static let unbounded = BufferingPolicy(kind: .unbounded, limit: .max)

    /// At most `limit` messages wait; one that comes when that many do is dropped.
    ///
    /// - Precondition: `limit` is positive.
    public static func oldest(_ limit: Int) -> BufferingPolicy {
        precondition(limit > 0, "BufferingPolicy.oldest(\(limit)): the limit must be positive")
        return BufferingPolicy(kind: .oldest, limit: limit)
    }

    /// At most `limit` messages wait; when one more comes, the one that has waited longest is dropped.
    ///
    /// - Precondition: `limit` is positive.
    public static func newest(_ limit: Int) -> BufferingPolicy {
        precondition(limit > 0, "BufferingPolicy.newest(\(limit)): the limit must be positive")
        return BufferingPolicy(kind: .newest, limit: limit)
    }

    /// As it is written in code: `newest(64)`.
    public var description: String {
        kind == .unbounded ? "unbounded" : "\(kind)(\(limit))"
    }
}
