internal import Channels
internal import Synchronization

/// Sends the messages posted in this process on the names that match a pattern.
///
/// It listens from its creation on: messages posted before the transport is connected wait.
final class OutgoingWorker: RouteWorker {
    private let isDurable: Bool
    private let sender: OutgoingSender
    /// Owns the listener, which holds the sender.
    private let token: ListenerToken
    /// Keeps the channel of a name alive, so that posting need not create one.
    private let channel: (any AnyObject & Sendable)?

    init(
        pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        channel: (any AnyObject & Sendable)?,
        isDurable: Bool,
        typeName: String,
        context: BridgeContext,
        encode: @escaping OutgoingSender.Encode
    ) {
        self.isDurable = isDurable
        self.channel = channel
        let sender = OutgoingSender(context, isDurable: isDurable, typeName: typeName, shadowedBy: earlier, encode)
        self.sender = sender
        token = context.switchboard.listenForBridge(
            matching: pattern,
            buffering: .oldest(context.configuration.outgoingLimit),
            intake: { name, message in sender.take(message, postedTo: name) },
            { name, departure in try await sender.send(departure, to: name) }
        )
    }

    var needs: TransportCapabilities { isDurable ? .durable : [] }

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
        statistics.waitingToSend += token.waitingCount
        statistics.dropped += token.droppedCount + token.discardedCount
    }
}
