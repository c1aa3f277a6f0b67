/// What a channel does with a post that one of its listeners makes during its call.
///
/// Only direct calls are nested: a post made by an async listener, or by a listener called from its mailbox, starts at
/// depth one.
public struct Reentrancy: Equatable, Sendable {
    let isQueued: Bool
    let limit: Int

    /// Delivers the inner post at once; then the outer one continues.
    /// - Parameter limit: The maximum depth of posts of the channel on one thread; positive. A deeper post is
    ///   not delivered, returns 0 and raises ``Fault/Code/recursionLimit``.
    public static func nested(limit: Int) -> Reentrancy {
        require(limit > 0, "Reentrancy.nested(limit: \(limit)): the limit must be positive; write 1 or more")
        return Reentrancy(isQueued: false, limit: limit)
    }

    /// Delivers the inner post after the outer one, to the listeners registered by then, so that all listeners receive
    /// one thread's posts in the same order.
    /// - Parameter limit: The maximum length of a chain of posts; positive. A post that would make it longer is not
    ///   delivered, returns 0 and raises ``Fault/Code/recursionLimit``.
    public static func queued(limit: Int) -> Reentrancy {
        require(limit > 0, "Reentrancy.queued(limit: \(limit)): the limit must be positive; write 1 or more")
        return Reentrancy(isQueued: true, limit: limit)
    }

    /// ``queued(limit:)`` with a limit of 1,024.
    public static let queued = queued(limit: 1_024)

    static let standard = nested(limit: 64)
}

extension Reentrancy {
    /// The policy as it is written in code: `nested(limit: 64)`.
    var text: String { "\(isQueued ? "queued" : "nested")(limit: \(limit))" }
}
