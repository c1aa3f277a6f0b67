#if NATS
import CNATS
import Foundation

extension PackedMessages {
    /// Passes every message to the C client and removes it. If the C client has no connection, it stops, and
    /// that message and the rest stay.
    ///
    /// - Parameters:
    ///   - spent: Takes over the messages that were created for the C client.
    ///   - onFailure: Called for each message that the C client refused for another reason. It is not sent
    ///     again, because after a write that timed out it is unknown how much of it was sent.
    /// - Returns: Whether all messages were removed.
    mutating func send(
        _ connection: OpaquePointer,
        _ spent: inout SpentMessages,
        onFailure: (natsStatus, _ subject: String) -> Void
    ) -> Bool {
        takeOut { message in
            let status = message.send(connection, &spent)
            switch status {
            case NATS_OK: break
            // The connection is lost. The messages go back to the outbox, the only buffer.
            case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED: return false
            default: onFailure(status, String(cString: message.subject))
            }
            return true
        }
    }
}

extension PackedMessages.View {
    fileprivate func send(_ connection: OpaquePointer, _ spent: inout SpentMessages) -> natsStatus {
        // It fits, because payloads were compared with the server's limit, which is smaller.
        let count = Int32(clamping: payload.count)
        guard headerCount > 0 else {
            if let reply {
                return natsConnection_PublishRequest(connection, subject, reply, payload.baseAddress, count)
            }
            return natsConnection_Publish(connection, subject, payload.baseAddress, count)
        }
        var message: OpaquePointer?
        defer { if let message { spent.add(message, bytes: payload.count) } }
        let bytes = payload.baseAddress?.assumingMemoryBound(to: CChar.self)
        var status = natsMsg_Create(&message, subject, reply, bytes, count)
        forEachHeader { name, value in
            if status == NATS_OK { status = natsMsgHeader_Add(message, name, value) }
        }
        return status == NATS_OK ? natsConnection_PublishMsg(connection, message) : status
    }
}
#endif
