#if NATS
import CNATS

/// Messages of the C client that are no longer needed.
///
/// The C client frees messages on a thread of its own. If that thread sleeps, freeing a message wakes it,
/// which costs more than anything else about a short message, so many messages are freed in a row.
struct SpentMessages {
    private static let mostMessages = 256
    private static let mostBytes = 1 << 16

    private var messages: [OpaquePointer] = []
    private var bytes = 0

    /// Takes over a message, and frees all messages if there are many.
    mutating func add(_ message: OpaquePointer, bytes: Int) {
        messages.append(message)
        self.bytes += bytes
        if messages.count >= Self.mostMessages || self.bytes >= Self.mostBytes { destroyAll() }
    }

    mutating func destroyAll() {
        for message in messages { natsMsg_Destroy(message) }
        messages.removeAll(keepingCapacity: true)
        bytes = 0
    }
}
#endif
