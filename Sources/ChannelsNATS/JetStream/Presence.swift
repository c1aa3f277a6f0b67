#if NATS
import ChannelsBridge

/// Which processes of a durable name live.
///
/// Each subscribes to a subject of the consumer, on which nobody ever answers. Whoever publishes a request there
/// is told by the server at once if nobody subscribes: a process that has been killed has no connection any more.
/// Silence means that one lives, or that the server has not noticed its end.
struct Presence: Sendable {
    private let jetStream: JetStream
    private let connection: NATSConnection
    private let stream: String
    private let consumer: String

    init(_ jetStream: JetStream, _ connection: NATSConnection, stream: String, consumer: String) {
        (self.jetStream, self.connection) = (jetStream, connection)
        (self.stream, self.consumer) = (stream, consumer)
    }

    /// How long to wait for the server to say that nobody is there.
    private static let patience = Duration.milliseconds(250)
    /// How many messages are taken back at most, settled ones in between included: each costs the server a look.
    private static let most: UInt64 = 10_000

    /// Keeps the subjects apart from those of messages.
    private static let prefix = "_CHANNELS."
    private var subject: String { "\(Self.prefix)\(stream).\(consumer)" }

    /// Whether this is a missing permission, without which it is never certain that nobody is there.
    static func expects(_ event: NATSConnection.Event) -> Bool {
        guard case .failed(let error) = event, error.code == .permissionDenied else { return false }
        return error.subject?.hasPrefix(prefix) == true
    }

    /// Tells others from now on that this process lives. Nil where that is not permitted.
    func begin() async throws -> NATSSubscription? {
        do {
            return try await NATSSubscription.subscribe(to: subject, on: connection, libraryHandler: { _ in })
        } catch let error as BridgeError where error.code == .permissionDenied {
            return nil
        }
    }

    /// Whether it is certain that no process has told that it lives. To be asked before ``begin()``.
    func isNobodyThere() async -> Bool {
        // Twice, because the server may be about to notice that a process has gone.
        for _ in 0..<2 {
            let question = NATSMessage(subject: subject)
            let answer = try? await jetStream.inbox.request(question, timeout: Self.patience)
            if answer?.saysNobodyResponds == true { return true }
        }
        return false
    }

    /// Returns to the server what nobody has any more and is not settled: it delivers that again before anything
    /// else, without having waited.
    ///
    /// - Parameters:
    ///   - held: The sequences in the stream of the messages that are not returned.
    ///   - epoch: Of the connection on which the server has said what is not settled.
    /// - Returns: Whether the server has confirmed that.
    func takeBack(
        _ found: ConsumerState,
        except held: Set<UInt64> = [],
        onConnection epoch: Int?
    ) async -> Bool {
        guard found.lastDelivered > found.lastSettled, found.lastDelivered - found.lastSettled <= Self.most else {
            return false
        }
        var sequences = (found.lastSettled + 1...found.lastDelivered).filter { !held.contains($0) }
        guard let last = sequences.popLast() else { return false }
        // Those in between that are settled are ignored.
        for sequence in sequences { connection.sendSoon(negativeAcknowledgement(sequence, found, epoch)) }
        // Acknowledgements are processed in order, so the answer to the last is one to all. Without it, one that is
        // processed late would take back what this process has been given meanwhile.
        let answer = try? await jetStream.inbox.request(
            negativeAcknowledgement(last, found, epoch),
            timeout: jetStream.configuration.requestTimeout
        )
        return answer.map { !$0.saysNobodyResponds } ?? false
    }

    /// Waits until the server has what was sent before: whoever finds nobody there takes back what has not been
    /// given back by then.
    func waitForServer() async {
        let question = NATSMessage(subject: "$JS.API.CONSUMER.INFO.\(stream).\(consumer)")
        _ = try? await jetStream.inbox.request(question, timeout: .seconds(1))
    }

    private func negativeAcknowledgement(_ sequence: UInt64, _ found: ConsumerState, _ epoch: Int?) -> NATSMessage {
        // The server looks at the two sequences: this one, and one of the consumer that it has delivered.
        let subject = "$JS.ACK.\(stream).\(consumer).1.\(sequence).\(found.lastDelivery).0.0"
        var message = NATSMessage(subject: subject, payload: Array("-NAK".utf8))
        // Later, it would take back what somebody has been given meanwhile.
        message.isBoundToConnection = true
        message.epoch = epoch
        return message
    }
}
#endif
