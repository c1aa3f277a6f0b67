internal import Channels
internal import Synchronization

/// The state shared by the workers of one run of a bridge.
///
/// `closing` is guarded by its lock. Everything else is constant or synchronizes itself.
final class BridgeContext: Sendable {
    private let record: BridgeRecord
    /// How many routes receive durable messages.
    let durableRoutes: Int
    let transport: any Transport
    let configuration: BridgeConfiguration
    /// The budgets of all outgoing and of all incoming routes.
    let outgoing: Budget
    let incoming: Budget
    /// Whether this run has connected the transport, which it then has to close.
    let hasConnected = Atomic(false)
    /// Opens when waiting messages may be sent: when the transport is connected and subscribed, or the bridge ends.
    let isReady = Latch()
    /// False from when the connection is lost until it is restored.
    let isConnected = Atomic(true)
    /// Opens when everything that the broker had sent to groups and responders has arrived, and no more will.
    let isDrained = Latch()
    /// Opens when the bridge ends, or the connection has ended for good.
    let isEnding = Latch()
    /// The reason, if the connection has ended for good.
    let closing = Locked<BridgeError?>(nil)

    init(_ record: BridgeRecord, _ parts: [BridgeRoute.Part]) {
        self.record = record
        durableRoutes = parts.count { $0.kind == .incoming && $0.isDurable }
        (transport, configuration) = (record.transport, record.configuration)
        let (messages, bytes) = (max(configuration.buffer.messages / 2, 1), max(configuration.buffer.bytes / 2, 1))
        outgoing = Budget(messages: messages, bytes: bytes)
        incoming = Budget(messages: messages, bytes: bytes)
    }

    var name: String { record.name }
    var switchboard: Switchboard { record.switchboard }
    var onDeadLetter: DeadLetterHandler? { record.onDeadLetter }
    var source: String { record.source }
    var events: Channel<TransportEvent> { record.events }
    var statistics: BridgeStatistics { record.counters.values.withLock { $0 } }

    func count(_ counter: WritableKeyPath<BridgeStatistics, Int>, _ amount: Int = 1) {
        record.counters.values.withLock { $0[keyPath: counter] += amount }
    }

    /// Counts a message that is lost, and raises a fault.
    func lose(_ error: BridgeError, _ counter: WritableKeyPath<BridgeStatistics, Int>) {
        count(counter)
        report(error)
    }

    /// Raises a fault.
    ///
    /// - Parameter channel: The name of the channel; by default the subject of the error, which may have a
    ///   prefix.
    func report(_ error: BridgeError, on channel: String? = nil) {
        switchboard.reportBridgeFault("\(error.code)", on: channel ?? error.subject ?? "bridge \(name)", error: error)
    }

    // MARK: Encoding

    /// The envelope of a message that this process creates now.
    func envelope(_ format: MessageFormat) -> EventEnvelope {
        EventEnvelope(
            id: randomIdentifier(),
            source: source,
            type: format.typeName,
            time: Timestamp.now.text,
            contentType: format.codec.contentType
        )
    }

    /// Creates a message for the transport, with the prefix before its subject.
    func message(_ body: [UInt8], _ headers: TransportHeaders, to subject: String) throws -> TransportMessage {
        guard !configuration.subjectPrefix.isEmpty else {
            return TransportMessage(valid: subject, headers: headers, body: body)
        }
        // This throws if the subject is too long with its prefix.
        return try TransportMessage(subject: configuration.subject(of: subject), headers: headers, body: body)
    }

    /// The format of a route, whose codec is the configured one unless it has one of its own.
    func format(_ typeName: String, _ options: BridgeRoute.Options) -> MessageFormat {
        MessageFormat(typeName: typeName, codec: options.codec ?? configuration.codec)
    }
}
