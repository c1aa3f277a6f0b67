extension BridgeContext {
    /// What an incoming route may hold.
    struct Share {
        let messages: Int
        let bytes: Int
        /// How many messages its window of duplicates holds, and that of failures.
        let window: Int
    }

    /// That of a route whose messages are not durable, and take up places in the bridge.
    var shareOfRoute: Share {
        Share(
            messages: configuration.routeLimit,
            bytes: configuration.routeByteLimit,
            window: configuration.routeLimit
        )
    }

    /// What a durable route may fetch, and its part of what the bridge may hold, which it keeps. All have equal parts:
    /// a quarter at most, and so that one part is left for what is not durable.
    func shareOfDurableRoute() -> (share: Share, reserved: Charge?) {
        let parts = max(durableRoutes + 1, 4)
        let messages = max(configuration.messageLimit / 2 / parts, 1)
        let bytes = max(configuration.byteLimit / 2 / parts, 1)
        // Its windows take up half of its bytes at most.
        let window = max(min(configuration.routeLimit, bytes / 2 / Self.windowEntry), 1)
        let share = Share(messages: messages, bytes: max(bytes - window * Self.windowEntry, 1), window: window)
        return (share, incoming.charge(messages: messages, bytes: bytes, isForced: true))
    }

    /// The bytes of one message in the windows of duplicates and failures.
    private static var windowEntry: Int { 128 }
}
