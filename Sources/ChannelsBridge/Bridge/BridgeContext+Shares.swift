extension BridgeContext {
    /// What a durable incoming route may fetch, and its part of what the bridge may hold, which it keeps. The routes
    /// that are created first have the larger parts.
    func shareOfDurableRoute() -> (share: (messages: Int, bytes: Int), reserved: Charge?) {
        // A quarter of what is left, so that as much is left for others as three routes have.
        let leftMessages = max(configuration.messageLimit / 2 - incoming.messages, 0)
        let leftBytes = max(configuration.byteLimit / 2 - incoming.bytes, 0)
        // What the window of duplicates, and that of failures, take up when they are full.
        let window = min(configuration.routeLimit, leftBytes / 8 / Self.windowEntry) * Self.windowEntry
        let messages = max(leftMessages / 4, 1)
        let bytes = max(leftBytes / 4 - window, 1)
        return ((messages, bytes), incoming.charge(messages: messages, bytes: bytes + window, isForced: true))
    }

    /// The bytes of one message in the windows of duplicates and failures.
    private static var windowEntry: Int { 128 }
}
