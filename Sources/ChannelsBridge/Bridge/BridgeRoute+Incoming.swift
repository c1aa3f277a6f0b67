internal import Channels

extension BridgeRoute {
    /// How a route encodes, and how an incoming one subscribes.
    struct Options: Sendable {
        /// Nil: the codec of the bridge.
        var codec: (any Codec)?
        var group: ExactText?
        var start: ReplayStart?
        /// How often a durable message is retried that cannot be decoded.
        var undecodableRetries = 2
        /// Whether to deliver what this process has published.
        var takesOwn = false
        /// For states: the routes that this one takes precedence over.
        var later: [Part] = []

        /// The durable name under which it receives in a bridge of this name.
        func durableName(in bridge: String) -> ExactText { group ?? ExactText(bridge) }
    }

    /// Shares the messages of an incoming route among the processes of a group: each message goes to one of
    /// them.
    ///
    /// ```swift
    /// let routes: [BridgeRoute] = [.incoming(.sold).inGroup("bookkeepers")]
    /// ```
    ///
    /// A durable route belongs to the group named after its bridge, unless this method names another. If a
    /// message is not durable, every process whose route has no group receives it, and one process of each
    /// group does, chosen by the broker. Order is kept only among the messages that one process receives. A
    /// process drops its own messages: if it both sends messages on a name and takes a share of them, use
    /// ``incoming(_:as:durable:type:)``.
    ///
    /// - Precondition: The route receives messages, and the name is not empty.
    public func inGroup(_ name: String) -> BridgeRoute {
        require(
            !name.isEmpty,
            "BridgeRoute.inGroup(\"\"): the name is empty; write the role of its processes, such as \"kitchen\""
        )
        return incoming { $0.group = ExactText(name) }
    }

    /// Sets where the route's durable name starts when it subscribes for the first time.
    ///
    /// The default is ``ReplayStart/beginning``; `.replaying(from: .new)` skips messages published before.
    ///
    /// - Precondition: The route receives durable messages.
    public func replaying(from start: ReplayStart) -> BridgeRoute {
        durable("begin with earlier ones") { $0.start = start }
    }

    /// Returns undecodable durable messages to the broker, up to this many times. Only tests change the
    /// default of two.
    ///
    /// They are redelivered after the delays of ``BridgeConfiguration/backoff``, behind decodable messages,
    /// so that a newer process with the same durable name can decode them. After that, or at once with 0,
    /// they become dead letters, which are kept if the bridge has ``BridgeConfiguration/deadLetters`` and
    /// dropped otherwise. The broker counts deliveries, so the limit applies to all processes of the name
    /// together.
    ///
    /// A message that has an invalid envelope, or is not durable, becomes a dead letter at once.
    ///
    /// - Precondition: The route receives durable messages, and the number is not negative.
    package func retryingUndecodable(atMost retries: Int) -> BridgeRoute {
        require(
            retries >= 0,
            "BridgeRoute.retryingUndecodable(atMost: \(retries)): the number must not be negative; write 0 or more"
        )
        return durable("retry them") { $0.undecodableRetries = retries }
    }

    /// What the route is called in the text of a trap.
    private var names: String {
        let patterns = parts.compactMap { $0.pattern?.text }
        return patterns.isEmpty ? "a route" : "the route of \(patterns.map { quoted($0) }.joined(separator: " and "))"
    }

    private func durable(_ purpose: String, _ change: (inout Options) -> Void) -> BridgeRoute {
        let isDurable = parts.contains { $0.kind == .incoming && $0.isDurable }
        require(
            isDurable,
            "\(names): only a route that receives durable messages can \(purpose); write 'durable: true' in an incoming one"
        )
        return incoming(change)
    }

    private func incoming(_ change: (inout Options) -> Void) -> BridgeRoute {
        require(
            parts.contains { $0.kind == .incoming },
            "\(names): the route receives no messages; write it after 'incoming' or 'both'"
        )
        return changing { part in if part.kind == .incoming { change(&part.options) } }
    }
}
