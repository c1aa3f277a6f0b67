#if NATS
import ChannelsBridge
import Foundation

extension JetStream {
    private struct Acknowledgement: Decodable {
        var stream: String?
        var seq: UInt64?
        var error: Refusal?
    }

    /// Publishes a message and waits until the stream has stored it. Without an answer, sends it again with
    /// the same identifier, which the stream recognises.
    ///
    /// - Parameter identifier: The value of `Nats-Msg-Id`; by default a random one.
    /// - Returns: The sequence of the message in its stream.
    func publish(_ message: NATSMessage, identifier: String?) async throws -> UInt64 {
        var message = message
        message.headers.append(NATSMessage.Header(name: "Nats-Msg-Id", value: identifier ?? randomToken()))
        let deadline = ContinuousClock.now + configuration.acknowledgementTimeout
        var reason = "no acknowledgement came in time"
        var isStreamKnown = false
        while true {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { throw BridgeError(.notAcknowledged, subject: message.subject, reason) }
            do {
                let answer = try await inbox.request(message, timeout: min(rest, configuration.retryInterval))
                if answer.isNoResponders {
                    // Either no stream has this subject, or its cluster has no leader now.
                    if !isStreamKnown { _ = try await stream(for: message.subject) }
                    isStreamKnown = true
                    reason = "its stream has no leader"
                } else if let sequence = try sequence(in: answer, of: message, &reason) {
                    return sequence
                }
                try await wait(until: deadline, else: BridgeError(.notAcknowledged, subject: message.subject, reason))
            } catch let error as BridgeError where error.code == .timedOut {
                // Without a connection, the message is still waiting. Sending it again would only fill the
                // buffer.
                while !inbox.isConnected {
                    reason = "there is no connection"
                    try await wait(
                        until: deadline,
                        else: BridgeError(.notAcknowledged, subject: message.subject, reason)
                    )
                }
            }
        }
    }

    /// Returns nil if another attempt may succeed.
    private func sequence(in answer: NATSMessage, of message: NATSMessage, _ reason: inout String) throws -> UInt64? {
        guard let acknowledgement = try? JetStream.decoder.decode(Acknowledgement.self, from: Data(answer.payload))
        else {
            throw BridgeError(.transportFailure, subject: message.subject, "the acknowledgement cannot be read")
        }
        if let refusal = acknowledgement.error {
            reason = refusal.description
            guard refusal.reason == .notNow else {
                throw BridgeError(.transportFailure, subject: message.subject, refusal.description)
            }
            return nil
        }
        guard acknowledgement.stream != nil, let sequence = acknowledgement.seq else {
            throw BridgeError(
                .transportFailure,
                subject: message.subject,
                "somebody else answered in place of a stream"
            )
        }
        return sequence
    }
}
#endif
