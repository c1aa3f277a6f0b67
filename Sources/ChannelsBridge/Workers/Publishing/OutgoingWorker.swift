internal import Channels

/// Sends the messages posted in this process on the names that match a pattern.
///
/// It listens from its creation on: messages posted before the transport is connected wait.
final class OutgoingWorker: RouteWorker {
    private let isDurable: Bool
    private let sender: any RouteSender
    /// Owns the listener, which holds the sender.
    private let token: ListenerToken
    /// Keeps the channel of a name alive, so that posting need not create one.
    private let channel: (any AnyObject & Sendable)?

    init(
        pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        channel: (any AnyObject & Sendable)?,
        isDurable: Bool,
        format: MessageFormat,
        context: BridgeContext,
        encode: @escaping EncodeMessage
    ) {
        self.isDurable = isDurable
        self.channel = channel
        let packaging = Packaging(context, format, encode)
        let sender: any RouteSender =
            isDurable
            ? DurableSender(context, publishing: pattern, shadowedBy: earlier, packaging)
            : PromptSender(context, shadowedBy: earlier, packaging)
        self.sender = sender
        token = context.switchboard.listenForBridge(
            matching: pattern,
            buffering: sender.buffering,
            intake: { name, message in sender.take(message, postedTo: name) },
            // `take` has created it.
            { _, departure in try await sender.send(departure as! Departure) }
        )
    }

    deinit { abandon() }

    /// Nil for a route that is not durable.
    var durableSender: DurableSender? { sender as? DurableSender }

    var needs: TransportCapabilities { isDurable ? .durable : [] }

    func work() {
        sender.work()
    }

    func connectionIsBack() {
        sender.connectionIsBack()
    }

    func finish() async {
        await sender.finish(token)
        token.cancel()
    }

    func abandon() {
        // First, so that no message is waiting when the sender checks.
        token.cancel()
        sender.abandon()
    }

    func add(to statistics: inout BridgeStatistics) {
        sender.add(token, to: &statistics)
    }
}
