#if NATS
import Channels
import ChannelsBridge
import CNATS
import Foundation

/// Finds a connection by the number that the C client passes to each callback.
///
/// It is a number and not a pointer because an error callback may still be called after the callback that
/// reports the connection as closed. Each connection of the C client has a number, and retains its
/// `NATSConnection` until that callback.
final class ConnectionRegistry: Sendable {
    static let shared = ConnectionRegistry()

    private let state = Locked<(connections: [UInt: NATSConnection], last: UInt)>(([:], 0))

    func add(_ connection: NATSConnection) -> UInt {
        state.withLock { state in
            state.last += 1
            state.connections[state.last] = connection
            return state.last
        }
    }

    @discardableResult
    func remove(_ id: UInt) -> NATSConnection? {
        state.withLock { $0.connections.removeValue(forKey: id) }
    }

    func connection(_ closure: UnsafeMutableRawPointer?) -> NATSConnection? {
        let id = UInt(bitPattern: closure)
        return state.withLock { $0.connections[id] }
    }
}

// The callbacks of a connection. They are top-level functions, which are nonisolated: a closure written in a
// main-actor context would be isolated to the main actor, and crash on the thread of the C client.

func connectionClosed(_ pointer: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    let id = UInt(bitPattern: closure)
    ConnectionRegistry.shared.remove(id)?.closedByLibrary(id, lastError(of: pointer))
}

func lastError(of pointer: OpaquePointer?) -> BridgeError? {
    var text: UnsafePointer<CChar>?
    let status = natsConnection_GetLastError(pointer, &text)
    return status == NATS_OK ? nil : BridgeError(status, saying: text)
}

func connectionFailed(
    _: OpaquePointer?,
    _ subscription: OpaquePointer?,
    _ status: natsStatus,
    _ closure: UnsafeMutableRawPointer?
) {
    guard let connection = ConnectionRegistry.shared.connection(closure) else { return }
    if status == NATS_SLOW_CONSUMER, let subscription { return connection.slow(subscription) }
    var last = NATS_OK
    connection.failed(BridgeError(status, saying: nats_GetLastError(&last)))
}
#endif
