public import Channels

extension Bridge {
    /// Posts a message on a channel as soon as its durable route has room for it.
    ///
    /// `post` never waits: where a route is full, the message is not sent, with a fault. This method waits instead,
    /// so whoever produces faster than the broker stores is slowed down. When it returns, the message is posted, with
    /// everything that means for listeners in this process, and waits to be published; to wait for the
    /// acknowledgement, use `postAndWait`. Messages that one task sends are published in that order.
    ///
    /// ```swift
    /// for sale in sales { try await bridge.send(sale, to: .sold) }
    /// ```
    ///
    /// It is for durable routes only. For others, `postAndWait` does the same: it waits while the transport's buffer
    /// is full.
    ///
    /// - Returns: How many listeners the post has reached, the route included.
    /// - Throws: ``BridgeError/Code/unsupported`` if no durable route of the bridge publishes the name;
    ///   ``BridgeError/Code/closed`` if the bridge has ended; `CancellationError` if the task is cancelled while it
    ///   waits. Nothing was posted then, except where ``BridgeConfiguration/closeTimeout`` has passed while the
    ///   message was being posted: listeners in this process may have heard it.
    @discardableResult
    public func send<Message: Encodable & Sendable>(_ message: Message, to name: ChannelName<Message>) async throws
        -> Int
    {
        let senders = workers.lazy.compactMap { ($0 as? OutgoingWorker)?.durableSender(of: name.text) }
        guard let sender = senders.first else {
            let detail = "no durable route of the bridge publishes it; for other routes, use postAndWait"
            throw BridgeError(.unsupported, subject: name.text, detail: detail)
        }
        try await sender.reserve(for: name.text)
        let reached = sender.postReserved { switchboard[name].post(message) }
        if sender.isAbandoned { throw BridgeError(.closed, subject: name.text) }
        return reached
    }
}
