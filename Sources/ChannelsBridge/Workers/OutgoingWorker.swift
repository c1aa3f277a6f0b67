internal import Channels
internal import Synchronization

/// Sends what is posted in this process to names that match a pattern.
///
/// It listens from when it is made: what is posted before the transport is connected waits.
final class OutgoingWorker: RouteWorker {
    private let isDurable: Bool
    private let sender: OutgoingSender
    /// Owns the listener, which holds the sender.
    private let token: ListenerToken
    /// Keeps the channel of a name, so that posting need not make one.
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
        // First, so that nothing waits any more when the sender looks.
        token.cancel()
        sender.abandon()
    }

    func add(to statistics: inout BridgeStatistics) {
        statistics.waitingToSend += token.waitingCount
        statistics.dropped += token.droppedCount + token.discardedCount
    }
}
