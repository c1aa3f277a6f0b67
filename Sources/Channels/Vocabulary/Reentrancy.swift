/// What a channel does with a post that one of its own listeners makes during its call.
///
/// Only synchronous calls on the posting thread can recurse: a post from an async listener, or from a
/// listener called from its mailbox, is a post of its own.
public struct Reentrancy: Equatable, Sendable {
    let isQueued: Bool
    let limit: Int

    /// The inner post runs at once, depth first; then the outer one continues.
    ///
    /// At most `limit` posts of the channel are on one thread's stack; one more is not delivered, returns 0
    /// and raises ``Fault/Code/recursionLimit``.
    ///
    /// - Precondition: `limit` is positive.
    public static func nested(limit: Int) -> Reentrancy {
        require(limit > 0, "Reentrancy.nested(limit: \(limit)): the limit must be positive")
        return Reentrancy(isQueued: false, limit: limit)
    }

    /// The inner post waits until the outer one has reached every listener, so that all listeners see one
    /// thread's posts in one order.
    ///
    /// It reaches the listeners registered when it is delivered. `limit` bounds the depth of the chain (a
    /// post made by a listener of a post made by a listener …); one deeper is not delivered, returns 0 and
    /// raises ``Fault/Code/recursionLimit``.
    ///
    /// - Precondition: `limit` is positive.
    public static func queued(limit: Int) -> Reentrancy {
        require(limit > 0, "Reentrancy.queued(limit: \(limit)): the limit must be positive")
        return Reentrancy(isQueued: true, limit: limit)
    }

    /// ``queued(limit:)`` with a limit of 1,024.
    public static let queued = queued(limit: 1_024)

    /// ``nested(limit:)`` with a limit of 64: the default.
    static let standard = nested(limit: 64)
}

extension Reentrancy: CustomStringConvertible {
    /// As written in code: `nested(limit: 64)`.
    public var description: String { "\(isQueued ? "queued" : "nested")(limit: \(limit))" }
}
