internal import Channels
internal import Synchronization

/// What the workers of a bridge share.
///
/// `counters` and `closing` are guarded by their locks; the rest is constant or atomic.
final class BridgeContext: Sendable {
    let name: String
    /// The `ce-source` of the messages that this bridge sends: unique to this object.
    let source: String
    let switchboard: Switchboard
    let transport: any Transport
    let configuration: BridgeConfiguration
    let onDeadLetter: DeadLetterHandler?
    let events = Channel<TransportEvent>()
    /// Opens when the transport is connected and subscribed: waiting messages may be sent.
    let isReady = Latch()
    /// Opens when the bridge begins to end.
    let isEnding = Latch()
    /// The reason why the connection has ended for good, if it has.
    let closing = Locked<BridgeError?>(nil)
    /// Makes identifiers, and digests of those of others.
    let hash = KeyedHash()
    private let lastNumber = Atomic<UInt64>(0)
    private let counters = Locked(BridgeStatistics())

    init(
        name: String,
        switchboard: Switchboard,
        transport: any Transport,
        configuration: BridgeConfiguration,
        onDeadLetter: DeadLetterHandler?
    ) {
        self.name = name
        self.switchboard = switchboard
        self.transport = transport
        self.configuration = configuration
        self.onDeadLetter = onDeadLetter
        source = "channels/\(name)/\(KeyedHash().digest(of: 0).text)"
    }

    /// The number of the next message.
    func nextNumber() -> UInt64 {
        lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The `ce-id` of the message with this number: 128 bits that nobody can guess. A broker drops a message
    /// whose identifier it knows, so whoever can guess one can suppress the message.
    func id(_ number: UInt64) -> String {
        hash.digest(of: number).text
    }

    var statistics: BridgeStatistics { counters.withLock { $0 } }

    func count(_ counter: WritableKeyPath<BridgeStatistics, Int>, _ amount: Int = 1) {
        counters.withLock { $0[keyPath: counter] += amount }
    }

    /// Counts a message that is lost, and raises a fault.
    func lose(_ error: BridgeError, _ counter: WritableKeyPath<BridgeStatistics, Int>) {
        count(counter)
        report(error)
    }

    /// Raises a fault.
    func report(_ error: BridgeError) {
        switchboard.reportBridgeFault(on: error.subject ?? "bridge \(name)", error: error)
    }

    // MARK: Encoding

    /// A message for the transport: in binary mode if it has headers, otherwise in structured mode.
    func pack(_ body: [UInt8], _ envelope: EventEnvelope, to subject: String) throws -> TransportMessage {
        let (headers, body) = try pack(body, envelope, subject)
        return TransportMessage(valid: subject, headers: headers, body: body)
    }

    /// A reply for the transport.
    func packReply(_ body: [UInt8], _ envelope: EventEnvelope, of subject: String) throws -> TransportReply {
        let (headers, body) = try pack(body, envelope, subject)
        return TransportReply(headers: headers, body: body)
    }

    private func pack(_ body: [UInt8], _ envelope: EventEnvelope, _ subject: String) throws -> (
        TransportHeaders, [UInt8]
    ) {
        guard transport.capabilities.contains(.headers) else {
            do { return ([:], try StructuredEvent.encode(envelope, body: body)) } catch {
                throw BridgeError(.unencodable, subject: subject, underlyingError: error)
            }
        }
        return (envelope.headers, body)
    }

    /// Encodes a message with the configured codec.
    func encode<Message: Encodable>(_ message: Message, for subject: String) throws -> [UInt8] {
        do { return try configuration.codec.encode(message) } catch {
            throw BridgeError(.unencodable, subject: subject, detail: "as \(Message.self)", underlyingError: error)
        }
    }

    func arrival(_ headers: TransportHeaders, _ body: [UInt8], on subject: String) throws -> Arrival {
        try Arrival(
            headers: headers,
            body: body,
            subject: subject,
            mayLackHeaders: !transport.capabilities.contains(.headers)
        )
    }
}
