#if NATS
import CNATS

extension PackedMessages {
    /// Hands every message to the C client and takes it out. Where the C client has no connection, stops:
    /// that message and the rest stay.
    ///
    /// - Parameter onFailure: Called for each message that the C client refused for another reason. It is not
    ///   sent again: after a write that ran out of time nobody knows how much of it has left.
    /// - Returns: Whether all are out.
    mutating func send(_ connection: OpaquePointer, onFailure: (natsStatus, _ subject: String) -> Void) -> Bool {
        takeOut { message in
            let status = message.send(connection)
            switch status {
            case NATS_OK: break
            // The C client is reconnecting. Its own buffer for that is set to nothing: the outbox is the one
            // buffer, with one limit.
            case NATS_INSUFFICIENT_BUFFER, NATS_CONNECTION_DISCONNECTED: return false
            default: onFailure(status, String(cString: message.subject))
            }
            return true
        }
    }
}

extension PackedMessages.View {
    fileprivate func send(_ connection: OpaquePointer) -> natsStatus {
        // No payload is larger: the server's limit is not, and it was looked at.
        let count = Int32(clamping: payload.count)
        guard headerCount > 0 else {
            if let reply {
                return natsConnection_PublishRequest(connection, subject, reply, payload.baseAddress, count)
            }
            return natsConnection_Publish(connection, subject, payload.baseAddress, count)
        }
        var message: OpaquePointer?
        defer { natsMsg_Destroy(message) }
        var status = natsMsg_Create(
            &message,
            subject,
            reply,
            payload.baseAddress?.assumingMemoryBound(to: CChar.self),
            count
        )
        forEachHeader { name, value in
            if status == NATS_OK { status = natsMsgHeader_Add(message, name, value) }
        }
        return status == NATS_OK ? natsConnection_PublishMsg(connection, message) : status
    }
}
#endif
