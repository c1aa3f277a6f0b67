/// What a channel does with a post that one of its own listeners makes while it is being called.
///
/// Only synchronous calls on the posting thread can recurse: a post from an async listener, or from a
/// listener that is called out of its mailbox, is a post of its own.
public struct Reentrancy: Hashable, Sendable {
    enum Mode: Hashable, Sendable { case nested, queued }

    let mode: Mode
    let limit: Int

    /// The inner post runs at once, depth first, and then the outer one goes on.
    ///
    /// At most `limit` posts of the channel stand on one thread's stack; one more is not delivered, returns 0
    /// and raises ``Fault/Code/recursionLimit``.
    ///
    /// - Precondition: `limit` is positive.
    public static func nested(limit: Int) -> Reentrancy {
        precondition(limit > 0, "Reentrancy.nested(limit: \(limit)): the limit must be positive")
        return Reentrancy(mode: .nested, limit: limit)
    }

    /// The inner post waits until the outer one has gone round, so that all listeners see one order of one
    /// thread's posts.
    ///
    /// It reaches the listeners registered when its turn comes. `limit` bounds the depth of the chain (a post
    /// made by a listener of a post made by a listener …); one deeper is not delivered, returns 0 and raises
    /// ``Fault/Code/recursionLimit``.
    ///
    /// - Precondition: `limit` is positive.
    public static func queued(limit: Int) -> Reentrancy {
        precondition(limit > 0, "Reentrancy.queued(limit: \(limit)): the limit must be positive")
        return Reentrancy(mode: .queued, limit: limit)
    }

    /// ``queued(limit:)`` with a limit of 1,024.
    public static let queued = queued(limit: 1_024)

    /// ``nested(limit:)`` with a limit of 64: the default.
    static let standard = nested(limit: 64)
}

extension Reentrancy: CustomStringConvertible {
    /// As it is written in code: `nested(limit: 64)`.
    public var description: String {
        "\(mode)(limit: \(limit))"
    }
}
