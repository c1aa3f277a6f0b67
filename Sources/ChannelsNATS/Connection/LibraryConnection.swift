#if NATS
import CNATS
import Foundation

/// A connection of the C client, from when it is established until it is lost. Its functions may be called
/// from any thread.
final class LibraryConnection: @unchecked Sendable {  // constant; the C client synchronizes
    /// The identifier that the C client passes to callbacks.
    let id: UInt
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer, id: UInt) {
        (self.pointer, self.id) = (pointer, id)
    }

    // No call can be running, because a caller holds this object.
    deinit { natsConnection_Destroy(pointer) }

    var isClosed: Bool { natsConnection_IsClosed(pointer) }

    /// How many bytes the server accepts in a message.
    var maxPayload: Int {
        let limit = Int(natsConnection_GetMaxPayload(pointer))
        return limit > 0 ? limit : .max
    }

    /// The addresses of other servers that the server has announced.
    var discoveredServers: [String] {
        var servers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        var count: Int32 = 0
        guard natsConnection_GetDiscoveredServers(pointer, &servers, &count) == NATS_OK, let servers else { return [] }
        defer { free(servers) }
        return (0..<Int(count)).compactMap { index in
            defer { free(servers[index]) }
            return servers[index].flatMap { String(validatingCString: $0) }
        }
    }
}

/// A `natsSubscription *`: its functions may be called from any thread.
struct LibrarySubscription: @unchecked Sendable {  // constant; the C client synchronizes
    let pointer: OpaquePointer
}
#endif
