#if NATS
import CNATS

/// Messages of the C client that are no longer needed.
///
/// The C client frees messages on its own thread, which it wakes for each message given to it while that
/// thread sleeps. That costs more than anything else about a short message, so many are given to it in a row.
struct SpentMessages {
    private static let mostMessages = 256
    private static let mostBytes = 1 << 16

    private var messages: [OpaquePointer] = []
    private var bytes = 0

    /// Takes a message over, and frees all of them if there are many.
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
