#if NATS
import CNATS

extension NATSMessage {
    /// Hands a checked message to the C client.
    func send(_ connection: OpaquePointer) -> natsStatus {
        let count = Int32(clamping: payload.count)
        guard !headers.isEmpty else {
            return payload.withUnsafeBytes { bytes in
                if let reply { return natsConnection_PublishRequest(connection, subject, reply, bytes.baseAddress, count) }
                return natsConnection_Publish(connection, subject, bytes.baseAddress, count)
            }
        }
        var message: OpaquePointer?
        defer { natsMsg_Destroy(message) }
        var status = payload.withUnsafeBytes { bytes in
            natsMsg_Create(&message, subject, reply, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), count)
        }
        for header in headers where status == NATS_OK { status = natsMsgHeader_Add(message, header.name, header.value) }
        return status == NATS_OK ? natsConnection_PublishMsg(connection, message) : status
    }
}
#endif
