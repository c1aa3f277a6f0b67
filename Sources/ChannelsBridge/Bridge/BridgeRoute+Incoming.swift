extension BridgeRoute {
    /// How an incoming route subscribes.
    struct IncomingOptions: Sendable {
        var group: String?
        var start: ReplayStart?
    }

    /// Shares the messages of the incoming route with the other processes that have it in the same group: each
    /// message goes to one of them.
    ///
    /// ```swift
    /// let routes: [BridgeRoute] = [.incoming(.sold).inGroup("bookkeepers")]
    /// ```
    ///
    /// A durable route is in the group with the name of its bridge, unless this gives it another one. Messages
    /// that are not durable go to every process without a group, and to one of each group. Which one, the broker
    /// decides; order is kept only among the messages that one process gets. A process that gets its own message
    /// drops it: do not send and share one name in the same process.
    ///
    /// - Precondition: The route receives messages, and the name is not empty.
    public func inGroup(_ name: String) -> BridgeRoute {
        precondition(!name.isEmpty, "a group needs a name")
        return incoming { $0.group = name }
    }

    /// Begins with earlier messages, when the durable name of the route subscribes for the first time.
    ///
    /// - Precondition: The route receives durable messages.
    public func replaying(from start: ReplayStart) -> BridgeRoute {
        precondition(
            parts.contains { $0.kind == .incoming && $0.isDurable },
            "only a route that receives durable messages can begin with earlier ones"
        )
        return incoming { $0.start = start }
    }

    private func incoming(_ change: (inout IncomingOptions) -> Void) -> BridgeRoute {
        precondition(parts.contains { $0.kind == .incoming }, "the route receives no messages")
        return BridgeRoute(
            parts: parts.map { part in
                var part = part
                if part.kind == .incoming { change(&part.options) }
                return part
            }
        )
    }
}
