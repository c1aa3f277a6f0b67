public import Channels

extension Bridge {
    /// Posts a message on a channel as soon as its durable route has room for it.
    ///
    /// `post` never waits: if a route is full, the message is not sent and a fault is raised. This method
    /// waits instead, so a producer is slowed down to the broker's pace. When it returns, the message has
    /// been posted to this process's listeners and queued for publishing; to wait for the acknowledgement,
    /// use `postAndWait`. Messages that one task sends are published in order.
    ///
    /// ```swift
    /// for sale in sales { try await bridge.send(sale, to: .sold) }
    /// ```
    ///
    /// Use it with durable routes only; on others, `postAndWait` waits while the transport's buffer is full.
    ///
    /// - Returns: How many listeners the post has reached, including the route.
    /// - Throws: ``BridgeError/Code/unsupported`` if no durable route of the bridge publishes the name;
    ///   ``BridgeError/Code/closed`` if the bridge has ended; `CancellationError` if the task is cancelled
    ///   while it waits. If it throws, nothing was posted, unless ``BridgeConfiguration/closeTimeout``
    ///   expired during the post: listeners in this process may have received that message.
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
