internal import Channels

/// Sends the messages posted in this process on the names that match a pattern.
///
/// It listens as soon as it is created. Messages posted before the transport is connected wait.
final class OutgoingWorker: RouteWorker {
    private let pattern: ChannelPattern
    /// The patterns of routes that take precedence.
    private let earlier: [ChannelPattern]
    private let sender: any RouteSender
    /// Keeps the listener, which holds the sender.
    private let token: ListenerToken
    /// Keeps the channel of a name alive, so that posting need not create one.
    private let channel: (any AnyObject & Sendable)?

    init(
        _ pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        _ channel: (any AnyObject & Sendable)?,
        _ sender: any RouteSender,
        _ switchboard: Switchboard
    ) {
        (self.pattern, self.earlier, self.channel, self.sender) = (pattern, earlier, channel, sender)
        token = switchboard.listenForBridge(
            matching: pattern,
            buffering: sender.buffering,
            intake: { name, message in
                earlier.contains { $0.matches(name) } ? nil : sender.take(message, postedTo: name)
            },
            // `take` has created it.
            { _, departure in try await sender.send(departure as! Departure) }
        )
    }

    deinit { abandon() }

    /// The sender that publishes a name; nil if another route does, or this one is not durable.
    func durableSender(of name: String) -> DurableSender? {
        guard pattern.matches(name), !earlier.contains(where: { $0.matches(name) }) else { return nil }
        return sender as? DurableSender
    }

    var needs: TransportCapabilities { sender.needs }

    func work() {
        sender.work()
    }

    func connectionIsBack() {
        sender.connectionIsBack()
    }

    func finish() async {
        await sender.finish()
        token.cancel()
    }

    var isIdle: Bool { sender.isIdle }

    func abandon() {
        // The listener ends first, because the sender waits for its messages.
        token.cancel()
        sender.abandon()
    }

    func add(to statistics: inout BridgeStatistics) {
        sender.add(to: &statistics)
        // A durable sender counts its dropped messages itself, when it is abandoned.
        if sender is PromptSender { statistics.dropped += token.droppedCount + token.discardedCount }
    }
}
