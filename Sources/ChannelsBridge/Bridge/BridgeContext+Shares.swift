extension BridgeContext {
    /// The limits of an incoming route.
    struct Share {
        let messages: Int
        let bytes: Int
        /// How many messages its windows of duplicates and of failures hold.
        let window: Int
    }

    /// The share of a route that is not durable. Its messages are charged to the bridge one by one.
    var shareOfRoute: Share {
        Share(
            messages: configuration.routeLimit,
            bytes: configuration.routeByteLimit,
            window: configuration.window
        )
    }

    /// The share of a durable route, which it reserves for its lifetime. All durable routes have equal parts
    /// of at most a quarter, which leaves one part for routes that are not durable.
    func shareOfDurableRoute() -> (share: Share, reserved: Charge?) {
        let parts = max(durableRoutes + 1, 4)
        let messages = max(configuration.buffer.messages / 2 / parts, 1)
        let bytes = max(configuration.buffer.bytes / 2 / parts, 1)
        // The windows of a route take up at most half of its bytes.
        let window = max(min(configuration.window, bytes / 2 / Self.windowEntry), 1)
        let share = Share(messages: messages, bytes: max(bytes - window * Self.windowEntry, 1), window: window)
        return (share, incoming.charge(messages: messages, bytes: bytes, isForced: true))
    }

    /// The bytes of one message in the windows of duplicates and failures.
    private static var windowEntry: Int { 128 }
}
